// CPython 3.11's type attribute lookup.
#include "python/type_version.h"

namespace minidynamo {

PyObject* class_attribute(PyTypeObject* type, PyObject* name) noexcept {
  PyObject* found = _PyType_Lookup(type, name);
  if (!found) PyErr_Clear();
  return found;
}

}  // namespace minidynamo
