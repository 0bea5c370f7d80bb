// The global interpreter lock, for code that torch may call without it.
#pragma once
#include <Python.h>

namespace minidynamo {

class GilScope {
 public:
  GilScope() noexcept : state_(PyGILState_Ensure()) {}
  ~GilScope() { PyGILState_Release(state_); }
  GilScope(const GilScope&) = delete;

 private:
  const PyGILState_STATE state_;
};

}  // namespace minidynamo
