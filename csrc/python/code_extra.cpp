// CPython 3.11's co_extra: an array of user pointers per code object, with one free function per user.
#include "python/code_extra.h"

#include "python/out_of_memory.h"

namespace minidynamo {

// As _PyCode_GetExtra, which is asked at every call in global mode. CPython keeps the structure to itself.
void* CodeSlot::get(PyCodeObject* code) const noexcept {
  struct Extra {
    Py_ssize_t count;
    void* data[1];
  };
  const auto* extra = static_cast<const Extra*>(code->co_extra);
  return index_ >= 0 && extra && index_ < extra->count ? extra->data[index_] : nullptr;
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
