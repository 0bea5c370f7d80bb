// A dict's item by a name from C. PyDict_GetItemString says "not there" when there is no memory to look, and nobody
// knows.
#pragma once
#include "python/out_of_memory.h"

namespace minidynamo {

// Borrowed; null without a Python error: not there, or a lack of memory that is taken down.
inline PyObject* named_item(PyObject* dict, const char* name) noexcept {
  const Ref key = Ref::steal(PyUnicode_FromString(name));
  PyObject* item = key ? PyDict_GetItemWithError(dict, key.get()) : nullptr;
  if (!item) clear_error();
  return item;
}

}  // namespace minidynamo
