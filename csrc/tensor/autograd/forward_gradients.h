// Forward-mode AD, as what runs the forward of an autograd.Function asks for it.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// True if a tensor is a dual number of forward-mode AD, which has one level.
bool has_tangent(PyObject* tensor) noexcept;

// Forward-mode AD is off while it exists.
class ForwardGradientsOff {
 public:
  ForwardGradientsOff() noexcept;
  ~ForwardGradientsOff();
  ForwardGradientsOff(const ForwardGradientsOff&) = delete;
  ForwardGradientsOff& operator=(const ForwardGradientsOff&) = delete;

 private:
  const bool before_;
};

}  // namespace minidynamo
