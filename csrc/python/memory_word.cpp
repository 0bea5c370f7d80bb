// CPython 3.11's dict layout.
#define Py_BUILD_CORE 1
#include "python/memory_word.h"

#undef HAVE_STD_ATOMIC
#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>

namespace minidynamo {

void append_dict_words(PyObject* object, std::vector<MemoryWord>& words) {
  if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    words.push_back(MemoryWord::at(_PyObject_ValuesPointer(object)));
    words.push_back(MemoryWord::at(_PyObject_ManagedDictPointer(object)));
  } else {
    words.push_back(MemoryWord::at(_PyObject_GetDictPtr(object)));
  }
}

}  // namespace minidynamo
