// CPython 3.11's type attribute lookup.
#include "python/type_version.h"

namespace minidynamo {

bool is_python_class(PyTypeObject* type) noexcept {
  static const destructor dealloc = [] {
    Ref made = Ref::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(){}", "Example"));
    return reinterpret_cast<PyTypeObject*>(made.get())->tp_dealloc;
  }();
  if (type->tp_dealloc != dealloc) return false;
  // C code that makes a class from a spec without a tp_dealloc of its own is given this one. A spec's class keeps its
  // name in a string of its own, which a class statement's does not.
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !reinterpret_cast<PyHeapTypeObject*>(type)->_ht_tpname;
}

PyObject* class_attribute(PyTypeObject* type, PyObject* name) noexcept {
  PyObject* found = _PyType_Lookup(type, name);
  if (!found) PyErr_Clear();
  return found;
}

}  // namespace minidynamo
