#include "python/error_text.h"

namespace minidynamo {

void drop_error() noexcept {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  PyErr_Clear();
}

TakenError take_error_parts() {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref held_type = Ref::steal(type), held_value = Ref::steal(value), held_traceback = Ref::steal(traceback);
  TakenError error;
  if (type) error.type = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  Ref text = value ? Ref::steal(PyObject_Str(value)) : Ref();
  if (const char* message = text ? PyUnicode_AsUTF8(text.get()) : nullptr) {
    error.message = message;
    error.has_message = true;
  }
  PyErr_Clear();
  return error;
}

std::string take_error_text() {
  TakenError error = take_error_parts();
  return error.has_message ? error.type + ": " + error.message : error.type;
}

}  // namespace minidynamo
