// A word in memory and what it contained: a version or a pointer, by which a check sees that an object is unchanged.
//
// A word may be read only while the object in which it lies is alive.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "python/version/dict_version.h"

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

// An equal one proves that it is the same dict, unchanged (dict_version). Never equal: the dict has no version.
inline MemoryWord version_word(PyObject* dict) noexcept {
  static constexpr uint64_t kNone = 0;
  const uint64_t* address = version_address(dict);
  return address ? MemoryWord::at(address) : MemoryWord{&kNone, ~kNone};
}
inline MemoryWord type_word(PyObject* object) noexcept { return MemoryWord::at(&object->ob_type); }
// The fields of an object that point to its __dict__, which exists. If they are unchanged, and the object's class is
// the same, the __dict__ lies at the same address.
void append_dict_words(PyObject* object, std::vector<MemoryWord>& words);

}  // namespace minidynamo
