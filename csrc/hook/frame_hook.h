// The PEP 523 hook: installed while something is to be captured, chained to the hook that was there before.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// While one lives, the hook is installed (counted: scopes nest, and threads share it).
class HookInstalled {
 public:
  HookInstalled();
  ~HookInstalled();
  HookInstalled(const HookInstalled&) = delete;
  HookInstalled& operator=(const HookInstalled&) = delete;
};

// Global mode: the hook stays, and every frame that the policy lets through is captured with this config; null ends it.
void set_global_capture(PyObject* config);

// Whose function evaluates frames now: "minidynamo", "CPython" or "another tool".
const char* hook_owner() noexcept;

}  // namespace minidynamo
