// Fakes of a program's own subclass of torch.Tensor, shown to C code as torch.Tensor.
//
// C code asks an object's class what `x[0]`, `len(x)` or `x.size()` is, and a class of the program's may have methods
// of its own for these: they would run for real while the trace only wants to know what torch does. The graph is given
// such tensors as plain ones too (is_class_of_graphs). Wrapper tensors are left alone: their operators are the class's.
#pragma once
#include <span>
#include <vector>

#include "world/state/tracer.h"

namespace minidynamo {

// True for a fake of a class whose methods are the program's.
bool has_class_of_program(PyObject* object);

// While one lives, they are of class torch.Tensor.
class PlainClasses {
 public:
  explicit PlainClasses(PyObject* object) { add(object); }
  // Those among the arguments of a call, or held by them.
  explicit PlainClasses(std::span<const Ref> arguments);
  ~PlainClasses();
  PlainClasses(const PlainClasses&) = delete;
  PlainClasses& operator=(const PlainClasses&) = delete;

 private:
  void add(PyObject* object);
  struct Shown {
    Ref object, type;
  };
  std::vector<Shown> shown_;
};

}  // namespace minidynamo
