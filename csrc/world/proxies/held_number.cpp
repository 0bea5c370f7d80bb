#include "world/proxies/held_number.h"

#include "python/code/struct_sequence.h"

namespace minidynamo {
namespace {

// True if a named tuple of C code holds the number: there may be more in it than can be seen (os.stat_result).
bool is_in_struct_sequence(const Source& source) {
  return source.parent && source.parent->value && is_struct_sequence_type(Py_TYPE(source.parent->value.get()));
}

}  // namespace

bool is_held_by_program(const Source& source) {
  switch (source.access) {
    case Access::Local:
    case Access::DictItem:
    case Access::CellContents:
      return true;
    case Access::Index:
      return !is_in_struct_sequence(source);
    default:
      return false;
  }
}

}  // namespace minidynamo
