// CPython 3.11's type attribute lookup.
#include "python/type_version.h"

#include "python/cached.h"

namespace minidynamo {

bool is_python_class(PyTypeObject* type) noexcept {
  static constinit CachedObject example{[](const char* name) {
                                          auto* maker = reinterpret_cast<PyObject*>(&PyType_Type);
                                          return Ref::steal(PyObject_CallFunction(maker, "s(){}", name));
                                        },
                                        "Example"};
  return type->tp_dealloc == example.type()->tp_dealloc;
}

PyObject* class_attribute(PyTypeObject* type, PyObject* name) noexcept {
  PyObject* found = _PyType_Lookup(type, name);
  if (!found) PyErr_Clear();
  return found;
}

}  // namespace minidynamo
