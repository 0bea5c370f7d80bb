// The TorchFunctionModes that are active in a trace, as the program sees them: those that it has entered, in their
// order.
//
// None lies on the thread's own stack: torch would run their __torch_function__ whenever any code looks at a tensor.
// What a call would hand to them is asked of torch (tensor/process/override_probe.h), and their methods are traced
// (model/tensors/overridden_call.h). Only torch's mode for a default device, if it was there before the trace, acts by
// itself.
#pragma once
#include <vector>

#include "python/ref.h"

namespace minidynamo {

class FunctionModes {
 public:
  bool any() const noexcept { return !stack_.empty(); }
  const std::vector<Ref>& stack() const noexcept { return stack_; }  // the innermost last
  void push(Ref mode) { stack_.push_back(std::move(mode)); }
  Ref pop() {
    Ref mode = std::move(stack_.back());
    stack_.pop_back();
    return mode;
  }

  // While one lives, the innermost mode is not there: its own method runs.
  class Popped {
   public:
    explicit Popped(FunctionModes& modes) : modes_(modes), mode_(modes.pop()) {}
    ~Popped() { modes_.push(std::move(mode_)); }
    Popped(const Popped&) = delete;
    PyObject* mode() const noexcept { return mode_.get(); }

   private:
    FunctionModes& modes_;
    Ref mode_;
  };

 private:
  std::vector<Ref> stack_;
};

}  // namespace minidynamo
