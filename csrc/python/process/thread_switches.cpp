#define Py_BUILD_CORE 1
#include "python/process/thread_switches.h"

#include "python/ref.h"

#undef HAVE_STD_ATOMIC
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>

namespace minidynamo {

unsigned long thread_switches() noexcept {
#if PY_VERSION_HEX < 0x030C0000
  return _PyRuntime.ceval.gil.switch_number;
#else
  return PyInterpreterState_Get()->ceval.gil->switch_number;
#endif
}

}  // namespace minidynamo
