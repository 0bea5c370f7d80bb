// By the flag with which the collector keeps itself from running twice, not by gc.disable(): that one belongs to the
// program, which may ask for it and change it on another thread in the meantime.
#define Py_BUILD_CORE 1
#include "python/process/collector.h"

#undef HAVE_STD_ATOMIC
#include <internal/pycore_ceval.h>
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>

namespace minidynamo {
namespace {

struct Pause {
  long scopes = 0;
  bool by_flag = false;           // the collector believes that it runs
  bool by_switching_off = false;  // gc.disable(), where a collection that runs already on another thread will end first
  bool is_due = false;            // CPython 3.12 and later: one was to run at the next instruction
};
Pause pause;  // under the GIL

_gc_runtime_state& collector() noexcept { return PyThreadState_Get()->interp->gc; }

#if PY_VERSION_HEX >= 0x030D0000
constexpr uintptr_t kIsDue = _PY_GC_SCHEDULED_BIT;
#endif

// Takes back that a collection was to run at the next instruction of whatever Python code; true if one was.
bool put_off() noexcept {
#if PY_VERSION_HEX < 0x030C0000
  return false;
#elif PY_VERSION_HEX >= 0x030D0000
  return __atomic_fetch_and(&PyThreadState_Get()->eval_breaker, ~kIsDue, __ATOMIC_RELAXED) & kIsDue;
#else
  return __atomic_exchange_n(&PyInterpreterState_Get()->ceval.gc_scheduled._value, 0, __ATOMIC_RELAXED) != 0;
#endif
}

void let_run_soon() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  __atomic_fetch_or(&PyThreadState_Get()->eval_breaker, kIsDue, __ATOMIC_RELAXED);
#elif PY_VERSION_HEX >= 0x030C0000
  _ceval_state& state = PyInterpreterState_Get()->ceval;
  __atomic_store_n(&state.gc_scheduled._value, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&state.eval_breaker._value, 1, __ATOMIC_RELAXED);
#endif
}

}  // namespace

CollectorPaused::CollectorPaused() noexcept {
  if (pause.scopes++) return;
  _gc_runtime_state& state = collector();
  pause.is_due = put_off();
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
  if (std::exchange(pause.is_due, false)) let_run_soon();
}

}  // namespace minidynamo
