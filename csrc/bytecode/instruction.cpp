#include "bytecode/instruction.h"

#include <algorithm>

namespace minidynamo {

const char* op_name(Op op) noexcept {
  static constexpr const char* kNames[] = {
#define MINIDYNAMO_OP(name, ...) #name,
#include "bytecode/ops.def"
#undef MINIDYNAMO_OP
  };
  return kNames[static_cast<size_t>(op)];
}

const char* name_of(SpecialMethod method) noexcept {
  static constexpr const char* kNames[] = {"__enter__", "__exit__", "__aenter__", "__aexit__"};
  return kNames[static_cast<size_t>(method)];
}

const ExceptionRegion* Bytecode::region_at(int32_t index) const noexcept {
  const auto after = std::partition_point(regions.begin(), regions.end(),
                                          [index](const ExceptionRegion& region) { return region.start <= index; });
  if (after == regions.begin()) return nullptr;
  const ExceptionRegion& region = *(after - 1);
  return index < region.end ? &region : nullptr;
}

const ExceptionRegion* Bytecode::block_at(int32_t index) const noexcept {
  const ExceptionRegion* region = region_at(index);
  while (region) {
    const Op handler = instructions[region->target].op;
    if (handler != Op::SWAP && handler != Op::CLEANUP_THROW && handler != Op::CALL_INTRINSIC_1) break;
    region = region_at(region->target);
  }
  return region;
}

}  // namespace minidynamo
