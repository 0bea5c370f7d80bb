// By the flag with which the collector keeps itself from running twice, not by gc.disable(): that one belongs to the
// program, which may ask for it and change it on another thread in the meantime.
#include "python/collector.h"

#undef HAVE_STD_ATOMIC
#define Py_BUILD_CORE
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>

namespace minidynamo {
namespace {

struct Pause {
  long scopes = 0;
  bool by_flag = false;           // the collector believes that it runs
  bool by_switching_off = false;  // gc.disable(), where a collection that runs already on another thread will end first
};
Pause pause;  // under the GIL

_gc_runtime_state& collector() noexcept { return PyThreadState_Get()->interp->gc; }

}  // namespace

CollectorPaused::CollectorPaused() noexcept {
  if (pause.scopes++) return;
  _gc_runtime_state& state = collector();
  pause.by_flag = !state.collecting;
  if (pause.by_flag)
    state.collecting = 1;
  else
    pause.by_switching_off = std::exchange(state.enabled, 0);
}

CollectorPaused::~CollectorPaused() {
  if (--pause.scopes) return;
  if (std::exchange(pause.by_flag, false)) collector().collecting = 0;
  if (std::exchange(pause.by_switching_off, false)) collector().enabled = 1;
}

}  // namespace minidynamo
