// Values of context variables, read without running code.
#pragma once
#include "python/process/out_of_memory.h"
#include "python/ref.h"

namespace minidynamo {

// The value of a contextvars.ContextVar in the running context (a new reference); its own default if asked for and none
// is set. Null without a Python error if there is none.
inline PyObject* context_value(PyObject* variable, bool with_default) noexcept {
  PyObject* value = nullptr;
  // Any object that is no value of the variable serves to tell that there is none.
  if (PyContextVar_Get(variable, with_default ? nullptr : variable, &value) < 0) clear_error();
  if (value != variable || with_default) return value;
  Py_DECREF(value);
  return nullptr;
}

}  // namespace minidynamo
