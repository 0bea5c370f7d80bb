#define Py_BUILD_CORE 1
#include "python/process/audit_hooks.h"

#undef HAVE_STD_ATOMIC
#include <internal/pycore_interp.h>

namespace minidynamo {

bool is_audit_hook(PyObject* function) noexcept {
  PyObject* hooks = PyInterpreterState_Get()->audit_hooks;
  if (!hooks) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks); ++i) {
    PyObject* hook = PyList_GET_ITEM(hooks, i);
    if (hook == function || (PyMethod_Check(hook) && PyMethod_GET_FUNCTION(hook) == function)) return true;
  }
  return false;
}

}  // namespace minidynamo
