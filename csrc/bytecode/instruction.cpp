#include "bytecode/instruction.h"

#include <algorithm>

#include "bytecode/opcodes.h"

namespace minidynamo {

const char* op_name(Op op) noexcept {
  static constexpr const char* kNames[] = {
#define MINIDYNAMO_OP(name, ...) #name,
#include "bytecode/ops.def"
#undef MINIDYNAMO_OP
  };
  return kNames[static_cast<size_t>(op)];
}

const ExceptionRegion* Bytecode::region_at(int32_t index) const noexcept {
  const auto after = std::partition_point(regions.begin(), regions.end(),
                                          [index](const ExceptionRegion& region) { return region.start <= index; });
  if (after == regions.begin()) return nullptr;
  const ExceptionRegion& region = *(after - 1);
  return index < region.end ? &region : nullptr;
}

int32_t Bytecode::index_of_offset(int32_t offset) const noexcept {
  const auto found =
      std::partition_point(instructions.begin(), instructions.end(),
                           [offset](const Instruction& instruction) { return instruction.offset < offset; });
  if (found == instructions.end()) return -1;
  const auto index = static_cast<int32_t>(found - instructions.begin());
  if (found->offset == offset) return index;
  if (offset < 0 || offset % 2 != 0) return -1;
  if (index == 0) return index;  // a prefix of the first instruction
  const Instruction& before = *(found - 1);
  return offset < before.offset + 2 * (1 + raw::encoding_of(before.op).caches) ? -1 : index;
}

}  // namespace minidynamo
