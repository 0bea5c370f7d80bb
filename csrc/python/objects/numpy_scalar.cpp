#include "python/objects/numpy_scalar.h"

#include "python/named_item.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

// Looked up again until NumPy is there; never released.
PyTypeObject* numpy_type(const char* name) noexcept {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* numpy = modules ? named_item(modules, "numpy") : nullptr;
  PyObject* type = numpy && PyModule_Check(numpy) ? named_item(PyModule_GetDict(numpy), name) : nullptr;
  clear_error();
  return as_type(type && PyType_Check(type) ? Ref::borrow(type).release() : nullptr);
}

PyTypeObject* number_type() noexcept {
  static PyTypeObject* type = nullptr;
  return type ? type : type = numpy_type("number");
}

PyTypeObject* truth_type() noexcept {
  static PyTypeObject* type = nullptr;
  return type ? type : type = numpy_type("bool_");
}

}  // namespace

bool is_numpy_scalar_type(PyTypeObject* type) noexcept {
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_base == &PyBaseObject_Type) return false;
  PyTypeObject* number = number_type();
  return number && (PyType_IsSubtype(type, number) || type == truth_type());
}

bool is_numpy_scalar(PyObject* object) noexcept { return is_numpy_scalar_type(Py_TYPE(object)); }

Ref python_number(PyObject* scalar) {
  if (Py_IS_TYPE(scalar, truth_type())) return nullptr;
  Ref number = Ref::steal(PyObject_CallMethod(scalar, "item", nullptr));
  // item() of a longdouble returns the longdouble itself.
  return number && (PyLong_Check(number.get()) || PyFloat_Check(number.get()) || PyComplex_Check(number.get())) ? number
                                                                                                                : Ref();
}

Ref numpy_bits(PyObject* scalar) noexcept {
  Py_buffer view;
  if (PyObject_GetBuffer(scalar, &view, PyBUF_SIMPLE) < 0) {
    clear_error();
    return nullptr;
  }
  Ref bits = Ref::steal(PyBytes_FromStringAndSize(static_cast<const char*>(view.buf), view.len));
  PyBuffer_Release(&view);
  if (!bits) clear_error();
  return bits;
}

}  // namespace minidynamo
