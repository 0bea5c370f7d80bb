// CPython 3.11's type attribute lookup.
#include "python/type_version.h"

namespace minidynamo {

bool is_python_class(PyTypeObject* type) noexcept {
  static const destructor dealloc = [] {
    Ref made = Ref::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(){}", "Example"));
    return reinterpret_cast<PyTypeObject*>(made.get())->tp_dealloc;
  }();
  return type->tp_dealloc == dealloc;
}

PyObject* class_attribute(PyTypeObject* type, PyObject* name) noexcept {
  PyObject* found = _PyType_Lookup(type, name);
  if (!found) PyErr_Clear();
  return found;
}

}  // namespace minidynamo
