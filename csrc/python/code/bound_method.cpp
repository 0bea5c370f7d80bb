#include "python/code/bound_method.h"

#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"

namespace minidynamo {

bool is_bound_slot(PyObject* object) noexcept {
  static constinit PyTypeObject* type = nullptr;  // has no name in CPython's API
  if (!type) {
    const Ref example = Ref::steal(PyObject_GetAttrString(Py_None, "__str__"));
    if (!example) return clear_error(), false;
    type = example.type();
  }
  return Py_IS_TYPE(object, type);
}

bool is_bound_native_method(PyObject* object) noexcept {
  if (is_bound_slot(object)) return true;
  if (!PyCFunction_Check(object)) return false;
  PyObject* self = PyCFunction_GET_SELF(object);
  return self && !PyModule_Check(self) && !PyType_Check(self) && descriptor_behind(object);
}

Ref bound_self_of(PyObject* method) noexcept {
  if (PyCFunction_Check(method)) return Ref::borrow(PyCFunction_GET_SELF(method));
  Ref self = Ref::steal(PyObject_GetAttrString(method, "__self__"));
  clear_error();
  return self;
}

PyObject* descriptor_behind(PyObject* method) noexcept {
  if (PyCFunction_Check(method)) {
    PyMethodDef* definition = as_builtin(method)->m_ml;
    PyObject* mro = Py_TYPE(PyCFunction_GET_SELF(method))->tp_mro;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
      PyObject* found = named_item(namespace_of(as_type(PyTuple_GET_ITEM(mro, i))), definition->ml_name);
      if (found && Py_IS_TYPE(found, &PyMethodDescr_Type) &&
          reinterpret_cast<PyMethodDescrObject*>(found)->d_method == definition)
        return found;
    }
    clear_error();
    return nullptr;
  }
  Ref owner = Ref::steal(PyObject_GetAttrString(method, "__objclass__"));
  Ref name = Ref::steal(PyObject_GetAttrString(method, "__name__"));
  clear_error();
  PyObject* found = owner && name && PyType_Check(owner.get())
                        ? PyDict_GetItemWithError(namespace_of(as_type(owner.get())), name.get())
                        : nullptr;
  clear_error();
  return found;
}

PyObject* bound_self(PyObject* callable) noexcept {
  return PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
}

const void* definition_of(PyObject* callable) noexcept {
  if (PyInstanceMethod_Check(callable)) callable = PyInstanceMethod_GET_FUNCTION(callable);  // pybind11's methods
  if (PyCFunction_Check(callable)) return as_builtin(callable)->m_ml;
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyClassMethodDescr_Type))
    return reinterpret_cast<PyMethodDescrObject*>(callable)->d_method;
  return callable;
}

}  // namespace minidynamo
