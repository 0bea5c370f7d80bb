// CPython's objects as what they are known to be, and back. Whoever calls one of these has asked for the type before.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace minidynamo {

// Any of CPython's structures that begin as an object does.
template <typename Structure>
PyObject* as_object(Structure* object) noexcept {
  return reinterpret_cast<PyObject*>(object);
}

inline PyTypeObject* as_type(PyObject* object) noexcept { return reinterpret_cast<PyTypeObject*>(object); }
inline PyCodeObject* as_code(PyObject* object) noexcept { return reinterpret_cast<PyCodeObject*>(object); }
inline PyFunctionObject* as_function(PyObject* object) noexcept { return reinterpret_cast<PyFunctionObject*>(object); }
inline PyCFunctionObject* as_builtin(PyObject* object) noexcept { return reinterpret_cast<PyCFunctionObject*>(object); }
inline PySliceObject* as_slice(PyObject* object) noexcept { return reinterpret_cast<PySliceObject*>(object); }

}  // namespace minidynamo
