// Detects, at every call that an entry serves, that a profiler of torch's may be on.
//
// torch keeps a flag in the module torch.autograd.profiler, for the whole process. It does not notify of a change: the
// version of the module's dict says that there was none, which is one comparison. Where a torch has no such flag, no
// regions are recorded.
#pragma once
#include "python/process/memory_word.h"

namespace minidynamo {

namespace profiler_details {
struct Watched {
  MemoryWord version{nullptr, 0};  // in the module's dict, which is kept alive; null address: not looked at yet
  bool is_on = false;
};
inline constinit Watched watched;
void look_again() noexcept;
}  // namespace profiler_details

// Runs no Python code.
inline bool profiler_is_on() noexcept {
  using namespace profiler_details;
  if (!watched.version.address || !watched.version.is_unchanged()) [[unlikely]]
    look_again();
  return watched.is_on;
}

}  // namespace minidynamo
