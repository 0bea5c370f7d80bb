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

}  // namespace minidynamo
