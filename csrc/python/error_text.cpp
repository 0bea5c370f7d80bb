#include "python/error_text.h"

namespace minidynamo {

TakenError take_error_parts() {
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
