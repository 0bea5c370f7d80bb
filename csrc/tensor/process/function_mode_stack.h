// The thread's stack of TorchFunctionModes, as torch keeps it.
//
// While a frame is traced, compiled or run from an entry, the program's modes do not lie on it: they would hear of the
// trace's calls and the graph's in place of the program's. What they would have done is part of the trace
// (world/torch/function_modes.h), and residual code puts back what the program has left on the stack.
#pragma once
#include <cstddef>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

size_t function_mode_count() noexcept;
PyObject* function_mode_at(size_t index) noexcept;  // borrowed
void push_function_mode(PyObject* mode);

// True if a mode is torch's own for a default device. Those at the bottom of the stack stay where they are: what they
// do to a call of the trace, they will do to the graph's.
bool is_device_mode(PyObject* mode) noexcept;
size_t device_mode_count() noexcept;  // at the bottom

// Takes the program's modes off the stack of this thread. They come back when the scope ends, unless residual code has
// put others there.
class FunctionModesAside {
 public:
  FunctionModesAside();
  ~FunctionModesAside();
  FunctionModesAside(const FunctionModesAside&) = delete;
  FunctionModesAside& operator=(const FunctionModesAside&) = delete;

  // Those that are aside on this thread, the innermost mode last.
  static const std::vector<Ref>& current() noexcept;
  // A callable for residual code: its arguments are the program's modes from now on.
  static PyObject* function_modes_again();

 private:
  static PyObject* put_again(PyObject* self, PyObject* modes);
  std::vector<Ref> modes_;
  FunctionModesAside* outer_;
  bool is_over_ = false;
};

}  // namespace minidynamo
