// CPython 3.11's co_extra: an array of user pointers per code object, with one free function per user.
#include "python/code_extra.h"

#include "python/out_of_memory.h"

namespace minidynamo {

void* CodeSlot::get(PyCodeObject* code) const noexcept {
  void* data = nullptr;
  if (index_ < 0) return nullptr;
  if (_PyCode_GetExtra(as_object(code), index_, &data) < 0) clear_error();
  return data;
}

bool CodeSlot::set(PyCodeObject* code, void* data) noexcept {
  if (index_ < 0) index_ = _PyEval_RequestCodeExtraIndex(free_);
  if (index_ < 0) {
    PyErr_SetString(PyExc_RuntimeError, "no slot for data on code objects is left in this interpreter");
    return false;
  }
  if (_PyCode_SetExtra(as_object(code), index_, data) == 0) return true;
  if (!PyErr_Occurred()) PyErr_NoMemory();
  return false;
}

}  // namespace minidynamo
