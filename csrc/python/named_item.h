// Looks up a dict's item by a name from C. PyDict_GetItemString says "not there" when there is no memory to look, and
// its caller cannot know.
#pragma once
#include "python/process/out_of_memory.h"
#include "python/version/dict_version.h"

namespace minidynamo {

// Borrowed; null without a Python error: not there. Runs no code: a key with the same hash and an __eq__ of its own is
// taken for another key.
inline PyObject* named_item(PyObject* dict, PyObject* name) noexcept {
  uint32_t hint = 0;
  PyObject* item;
  dict_item(dict, name, PyObject_Hash(name), hint, item);
  return item;
}

// Borrowed; null without a Python error: not there, or a lack of memory that is taken down.
inline PyObject* named_item(PyObject* dict, const char* name) noexcept {
  const Ref key = Ref::steal(PyUnicode_FromString(name));
  if (!key) clear_error();
  return key ? named_item(dict, key.get()) : nullptr;
}

}  // namespace minidynamo
