// Data of our own attached to code objects (co_extra), freed when the code object dies.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// One kind of data: a slot that every code object has. CPython never frees slots: make one per process.
class CodeSlot {
 public:
  // `free` receives the attached data when the code object dies or something else is attached; perhaps null.
  explicit constexpr CodeSlot(void (*free)(void*)) noexcept : free_(free) {}

  // The data attached to a code object; null if there is none.
  void* get(PyCodeObject* code) const noexcept;
  // Attaches data (null: none) and frees what was there. False with a Python error set on failure.
  bool set(PyCodeObject* code, void* data) noexcept;

 private:
  void (*free_)(void*);
  Py_ssize_t index_ = -1;
};

}  // namespace minidynamo
