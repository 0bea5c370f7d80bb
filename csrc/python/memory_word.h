// Places in memory that tell, as long as they are as they were, that an object has not changed: a version, or a
// pointer.
//
// A word may be read only while the object that it lies in is alive.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "python/dict_version.h"

namespace minidynamo {

struct MemoryWord {
  const void* address;
  uint64_t content;

  static MemoryWord at(const void* address) noexcept { return {address, read(address)}; }
  bool is_unchanged() const noexcept { return read(address) == content; }

 private:
  static uint64_t read(const void* address) noexcept {
    uint64_t content;
    std::memcpy(&content, address, sizeof content);
    return content;
  }
};

// An equal one proves that it is the same dict, unchanged (dict_version).
inline MemoryWord version_word(PyObject* dict) noexcept {
  return MemoryWord::at(&reinterpret_cast<PyDictObject*>(dict)->ma_version_tag);
}
inline MemoryWord type_word(PyObject* object) noexcept { return MemoryWord::at(&object->ob_type); }
// Where an object of the same class keeps its __dict__, which exists: equal words prove that it is at the same address.
void append_dict_words(PyObject* object, std::vector<MemoryWord>& words);

}  // namespace minidynamo
