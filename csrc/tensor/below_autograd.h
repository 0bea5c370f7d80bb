// Running graphs that were recorded below autograd: what differentiates, and casts, has done so in the trace.
#pragma once
#include <cstdint>

#include "python/ref.h"

namespace minidynamo {

// While one lives, autograd records nothing on this thread and autocast casts nothing.
class BelowAutogradScope {
 public:
  BelowAutogradScope() noexcept;
  ~BelowAutogradScope();
  BelowAutogradScope(const BelowAutogradScope&) = delete;
  BelowAutogradScope& operator=(const BelowAutogradScope&) = delete;

 private:
  bool gradients_;
  bool casts_on_cpu_, casts_on_cuda_;
};

// (tensor, name): a tensor over the same memory whose history, of that name, a backward pass has used up: it requires a
// gradient, and another backward pass through it raises as torch does. Borrowed, alive for the life of the process.
PyObject* with_used_up_history_callable();

}  // namespace minidynamo
