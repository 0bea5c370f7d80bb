// When the PEP 523 hook is installed: while something is to be captured.
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
bool is_hook_wanted() noexcept;  // by any of these

// Global mode: the hook stays, and every frame that the policy lets through is captured with this config; null ends it.
void set_global_capture(PyObject* config);

// Whose function evaluates frames now: "minidynamo", "CPython" or "another tool".
const char* hook_owner() noexcept;

// The code object of the wrapper that torch._compile._disable_dynamo puts around torch's Python meta kernels; null
// until the hook was installed once.
PyObject* meta_kernel_wrapper() noexcept;

}  // namespace minidynamo
