#include "python/thread_switches.h"

#include "python/ref.h"

#define Py_BUILD_CORE
#undef HAVE_STD_ATOMIC
#include <internal/pycore_runtime.h>
#undef Py_BUILD_CORE

namespace minidynamo {

unsigned long thread_switches() noexcept { return _PyRuntime.ceval.gil.switch_number; }

}  // namespace minidynamo
