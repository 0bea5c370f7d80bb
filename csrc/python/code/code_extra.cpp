// CPython's co_extra: an array of user pointers per code object, with one free function per user.
#include "python/code/code_extra.h"

#include "python/process/out_of_memory.h"

namespace minidynamo {

#if PY_VERSION_HEX < 0x030C0000
constexpr auto PyUnstable_Eval_RequestCodeExtraIndex = _PyEval_RequestCodeExtraIndex;
constexpr auto PyUnstable_Code_SetExtra = _PyCode_SetExtra;
#endif

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
  if (index_ < 0) index_ = PyUnstable_Eval_RequestCodeExtraIndex(free_);
  if (index_ < 0) {
    PyErr_SetString(PyExc_RuntimeError, "no slot for data on code objects is left in this interpreter");
    return false;
  }
  if (PyUnstable_Code_SetExtra(as_object(code), index_, data) == 0) return true;
  if (!PyErr_Occurred()) PyErr_NoMemory();
  return false;
}

}  // namespace minidynamo
