#include "bytecode/op_facts.h"

#include <bit>

namespace minidynamo {
namespace {

namespace traits {
constexpr uint8_t Nothing = 0, ReadsLocal = 1, WritesLocal = 2, EndsFlow = 4, Anywhere = 8, TakesSizes = 16,
                  HoldsSizes = 32;
}

struct Facts {
  Operand operand;
  uint8_t traits;
  bool has(uint8_t trait) const noexcept { return (traits & trait) != 0; }
};

const Facts& facts_of(Op op) noexcept {
  using namespace traits;
  static constexpr Facts kFacts[] = {
#define MINIDYNAMO_OP(name, operand, inputs, outputs, kept, traits) {Operand::operand, traits},
#include "bytecode/ops.def"
#undef MINIDYNAMO_OP
  };
  return kFacts[static_cast<size_t>(op)];
}

constexpr int32_t bits(int32_t value) noexcept { return std::popcount(static_cast<uint32_t>(value)); }

struct StackUse {
  int32_t inputs, outputs, kept;
};

StackUse stack_use(const Instruction& instruction, bool jump) noexcept {
  const int32_t arg = instruction.arg, null = instruction.push_null;
  switch (instruction.op) {
#define MINIDYNAMO_OP(name, operand, inputs, outputs, kept, traits) \
  case Op::name:                                                    \
    return {inputs, outputs, kept};
#include "bytecode/ops.def"
#undef MINIDYNAMO_OP
  }
  return {};
}

}  // namespace

Operand operand(Op op) noexcept { return facts_of(op).operand; }
bool is_jump(Op op) noexcept { return operand(op) == Operand::Target; }
bool ends_flow(Op op) noexcept { return facts_of(op).has(traits::EndsFlow); }
bool runs_anywhere(Op op) noexcept { return facts_of(op).has(traits::Anywhere); }
bool takes_sizes(Op op) noexcept { return facts_of(op).has(traits::TakesSizes); }
bool holds_sizes(Op op) noexcept { return facts_of(op).has(traits::HoldsSizes); }

int32_t local_read(const Instruction& instruction) noexcept {
  return facts_of(instruction.op).has(traits::ReadsLocal) ? instruction.arg : -1;
}

int32_t local_written(const Instruction& instruction) noexcept {
  return facts_of(instruction.op).has(traits::WritesLocal) ? instruction.arg : -1;
}

int stack_inputs(const Instruction& instruction) noexcept { return stack_use(instruction, false).inputs; }

int stack_effect(const Instruction& instruction, bool jump) noexcept {
  const StackUse use = stack_use(instruction, jump);
  return use.outputs - use.inputs;
}

int32_t kept_operands(const Instruction& instruction, bool jump) noexcept { return stack_use(instruction, jump).kept; }

}  // namespace minidynamo
