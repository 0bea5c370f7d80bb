// CPython 3.11's co_extra: an array of user pointers per code object, with one free function per user.
#include "python/code_extra.h"

namespace minidynamo {
namespace {

// Slots are never given back by CPython, so one is taken for the life of the process.
Py_ssize_t slot = -1;

}  // namespace

bool reserve_code_extra(void (*free)(void*)) noexcept {
  if (slot >= 0) return true;
  slot = _PyEval_RequestCodeExtraIndex(free);
  if (slot >= 0) return true;
  PyErr_SetString(PyExc_RuntimeError, "no slot for data on code objects is left in this interpreter");
  return false;
}

void* code_extra(PyCodeObject* code) noexcept {
  void* data = nullptr;
  if (slot < 0) return nullptr;
  if (_PyCode_GetExtra(reinterpret_cast<PyObject*>(code), slot, &data) < 0) PyErr_Clear();
  return data;
}

bool set_code_extra(PyCodeObject* code, void* data) noexcept {
  if (_PyCode_SetExtra(reinterpret_cast<PyObject*>(code), slot, data) == 0) return true;
  if (!PyErr_Occurred()) PyErr_NoMemory();
  return false;
}

}  // namespace minidynamo
