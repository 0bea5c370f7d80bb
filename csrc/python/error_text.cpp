#include "python/error_text.h"

#include "python/process/out_of_memory.h"

namespace minidynamo {

PyObject* current_error() noexcept {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (type) PyErr_NormalizeException(&type, &value, &traceback);
  PyErr_Restore(type, value, traceback);
  return value;
}

namespace {

// Runs `change` on the exception that is set, made an instance, if it is of the class.
template <typename Change>
void change_error(PyObject* of_class, Change change) noexcept {
  if (!PyErr_Occurred() || !PyErr_ExceptionMatches(of_class)) return;
  PyObject* error = current_error();
  if (PyErr_GivenExceptionMatches(error, of_class)) change(error);
}

}  // namespace

void add_attribute_context(PyObject* object, PyObject* name) noexcept {
  change_error(PyExc_AttributeError, [&](PyObject* error) {
    auto* missing = reinterpret_cast<PyAttributeErrorObject*>(error);
    if (missing->name || missing->obj) return;
    missing->name = Ref::borrow(name).release();
    missing->obj = Ref::borrow(object).release();
  });
}

void add_name_context(PyObject* name) noexcept {
  change_error(PyExc_NameError, [&](PyObject* error) {
    auto* missing = reinterpret_cast<PyNameErrorObject*>(error);
    if (!missing->name) missing->name = Ref::borrow(name).release();
  });
}

Ref take_error() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Ref::drop(type), Ref::drop(traceback);
  return Ref::steal(value);
}

void set_error(Ref exception) {
  PyObject* traceback = PyException_GetTraceback(exception.get());
  PyObject* type = PyExceptionInstance_Class(exception.get());
  PyErr_Restore(Ref::borrow(type).release(), exception.release(), traceback);
}

TakenError take_error_parts() {
  look_at_error();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref held_type = Ref::steal(type), held_value = Ref::steal(value), held_traceback = Ref::steal(traceback);
  TakenError error;
  if (type) error.type = as_type(type)->tp_name;
  Ref text = value ? Ref::steal(PyObject_Str(value)) : Ref();
  if (const char* message = text ? PyUnicode_AsUTF8(text.get()) : nullptr) {
    error.message = message;
    error.has_message = true;
  }
  clear_error();
  return error;
}

std::string take_error_text() {
  TakenError error = take_error_parts();
  return error.has_message ? error.type + ": " + error.message : error.type;
}

std::nullptr_t attribute_error(PyObject* object, PyObject* name) {
  PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '%U'", Py_TYPE(object)->tp_name, name);
  add_attribute_context(object, name);
  return nullptr;
}

}  // namespace minidynamo
