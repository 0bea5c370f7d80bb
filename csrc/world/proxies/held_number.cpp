#include "world/proxies/held_number.h"

namespace minidynamo {
namespace {

// True if a tuple with names holds the number. C code may have made such a tuple with more in it than can be seen
// (os.stat_result).
bool is_in_record(const Source& source) {
  if (source.access != Access::Index || !source.parent || !source.parent->value) return false;
  PyObject* owner = source.parent->value.get();
  return PyTuple_Check(owner) && !PyTuple_CheckExact(owner);
}

}  // namespace

bool is_held_by_program(const Source& source) {
  switch (source.access) {
    case Access::Local:
    case Access::DictItem:
    case Access::CellContents:
      return true;
    case Access::Index:
      return !is_in_record(source);
    default:
      return false;
  }
}

}  // namespace minidynamo
