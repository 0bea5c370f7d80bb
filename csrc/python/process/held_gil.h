// The GIL, for code that torch calls with or without it. An INCREF needs it too.
#pragma once
#include "python/ref.h"

namespace minidynamo {

class HeldGil {
 public:
  HeldGil() noexcept : state_(PyGILState_Ensure()) {}
  ~HeldGil() { PyGILState_Release(state_); }
  HeldGil(const HeldGil&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace minidynamo
