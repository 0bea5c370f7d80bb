// A call of an optimized function that is on trial (cache/trial.h): captured or not, timed or not.
#pragma once
#include <functional>

#include "cache/code_cache.h"
#include "cache/trial.h"
#include "hook/runtime.h"

namespace minidynamo {

// The trial of one wrapper.
struct ProfitabilityTrial {
  Trial trial;
  uint64_t doubt = 0;    // the code object's, when it was last looked at
  uint64_t resets = 0;   // the registry's, then
  uint64_t entries = 0;  // number that the last captured call ran
  bool is_wanted = false;
};

// Captured calls of the code object may not pay: its wrappers are tried from now on.
void suspect_slowdown(CodeCache& cache) noexcept;

// `captured` and `plain` make the call in the two ways.
PyObject* call_on_trial(ProfitabilityTrial& wrapper, CodeCache& cache, PyObject* config,
                        const std::function<PyObject*()>& captured, const std::function<PyObject*()>& plain);

}  // namespace minidynamo
