#define Py_BUILD_CORE 1
#include "python/process/memory_word.h"

#include "python/objects/managed_attributes.h"

namespace minidynamo {

void append_dict_words(PyObject* object, std::vector<MemoryWord>& words) {
  if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    for (const void* pointer : managed_pointers(object)) words.push_back(MemoryWord::at(pointer));
  } else {
    words.push_back(MemoryWord::at(_PyObject_GetDictPtr(object)));
  }
}

}  // namespace minidynamo
