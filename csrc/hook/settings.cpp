#include "hook/settings.h"

#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {

Ref setting(PyObject* config, const char* name) {
  const InterruptionsHeld meanwhile;
  Ref value = Ref::steal(PyObject_GetAttrString(config, name));
  clear_error();
  return value;
}

bool is_set(PyObject* config, const char* name) {
  const InterruptionsHeld meanwhile;
  const Ref value = setting(config, name);
  const bool is = value && PyObject_IsTrue(value.get()) == 1;
  clear_error();
  return is;
}

}  // namespace minidynamo
