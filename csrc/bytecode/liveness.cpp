#include "bytecode/liveness.h"

#include "bytecode/op_facts.h"
#include "python/code/code_object.h"

namespace minidynamo {
namespace {

// super() without arguments reads the first local and the cell of __class__, behind the compiler's back.
bool uses_super(const Bytecode& bytecode, int32_t& class_cell) {
  const Py_ssize_t count = PyTuple_GET_SIZE(bytecode.localsplus_names.get());
  for (class_cell = 0; class_cell < count; ++class_cell)
    if ((bytecode.localsplus_kinds[class_cell] & kFastFree) &&
        !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(bytecode.localsplus_names.get(), class_cell), "__class__"))
      return true;
  return false;
}

}  // namespace

Liveness::Liveness(const Bytecode& bytecode)
    : bytecode_(bytecode), words_((PyTuple_GET_SIZE(bytecode.localsplus_names.get()) + 63) / 64) {
  const auto count = static_cast<int32_t>(bytecode.instructions.size());
  bits_.assign(count * words_, 0);
  int32_t class_cell;
  if (uses_super(bytecode, class_cell))
    for (int32_t i = 0; i < count; ++i)
      for (const int32_t local : {0, class_cell}) bits_[i * words_ + local / 64] |= uint64_t{1} << (local % 64);
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = count; i-- > 0;) changed |= update(i);
  }
}

bool Liveness::after(int32_t instruction, int32_t local) const noexcept {
  const Instruction& now = bytecode_.instructions[instruction];
  const ExceptionRegion* region = bytecode_.region_at(instruction);
  return (is_jump(now.op) && get(now.target, local)) || (region && get(region->target, local)) ||
         (!ends_flow(now.op) && get(instruction + 1, local));
}

bool Liveness::update(int32_t instruction) {
  const Instruction& now = bytecode_.instructions[instruction];
  const ExceptionRegion* region = bytecode_.region_at(instruction);
  const int32_t read = local_read(now), written = local_written(now);
  bool changed = false;
  for (size_t word = 0; word < words_; ++word) {
    auto of = [&](int32_t other) { return bits_[other * words_ + word]; };
    auto bit = [&](int32_t local) {
      return local >= 0 && static_cast<size_t>(local) / 64 == word ? uint64_t{1} << (local % 64) : 0;
    };
    uint64_t live = (is_jump(now.op) ? of(now.target) : 0) | (ends_flow(now.op) ? 0 : of(instruction + 1));
    live = (live & ~bit(written)) | bit(read) | (region ? of(region->target) : 0);
    uint64_t& known = bits_[instruction * words_ + word];
    changed |= (live | known) != known;
    known |= live;
  }
  return changed;
}

}  // namespace minidynamo
