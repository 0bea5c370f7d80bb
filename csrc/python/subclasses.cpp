// CPython 3.11: a dict from addresses to weak references, in the order in which the classes were made, or null.
#include "python/subclasses.h"

namespace minidynamo {

Ref newest_subclass(PyTypeObject* base) {
  PyObject* known = base->tp_subclasses;
  if (!known || PyDict_GET_SIZE(known) == 0) return nullptr;
  Ref backwards = Ref::steal(PyObject_CallMethod(known, "__reversed__", nullptr));
  Ref key = backwards ? Ref::steal(PyIter_Next(backwards.get())) : Ref();
  PyObject* reference = key ? PyDict_GetItemWithError(known, key.get()) : nullptr;
  PyErr_Clear();
  PyObject* type = reference && PyWeakref_CheckRef(reference) ? PyWeakref_GET_OBJECT(reference) : Py_None;
  return type == Py_None ? Ref() : Ref::borrow(type);
}

void forget_subclass(PyTypeObject* type) noexcept {
  PyObject *error, *value, *traceback;
  PyErr_Fetch(&error, &value, &traceback);
  Ref key = Ref::steal(PyLong_FromVoidPtr(type));
  for (Py_ssize_t i = 0; key && type->tp_bases && i < PyTuple_GET_SIZE(type->tp_bases); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_bases, i));
    if (!base->tp_subclasses) continue;
    if (PyDict_DelItem(base->tp_subclasses, key.get()) < 0) PyErr_Clear();
    if (PyDict_GET_SIZE(base->tp_subclasses) == 0) Ref::steal(std::exchange(base->tp_subclasses, nullptr));
  }
  PyErr_Restore(error, value, traceback);
}

}  // namespace minidynamo
