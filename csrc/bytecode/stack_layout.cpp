#include "bytecode/stack_layout.h"

#include <algorithm>

#include "bytecode/op_facts.h"

namespace minidynamo {

int32_t method_of(const std::vector<SlotKind>& layout, int32_t self) noexcept {
  const bool is_swapped = self == 0 || layout[self - 1] != SlotKind::Method;
  return is_swapped ? self + 1 : self - 1;
}

StackLayout::StackLayout(const Bytecode& bytecode)
    : bytecode_(bytecode), before_(bytecode.instructions.size()), reached_(bytecode.instructions.size(), false) {
  reach(0, {});
  while (!pending_.empty()) {
    const int32_t at = pending_.back();
    pending_.pop_back();
    const Instruction& now = bytecode_.instructions[at];
    const ExceptionRegion* region = bytecode_.region_at(at);
    // PUSH_EXC_INFO stands in the region of the handler of handlers, but never raises, and what lies there is no saved
    // exception yet.
    if (region && now.op != Op::PUSH_EXC_INFO) {
      std::vector<SlotKind> handler(before_[at].begin(), before_[at].begin() + region->depth);
      if (region->push_lasti) handler.push_back(SlotKind::RaisingInstruction);
      handler.push_back(SlotKind::Value);
      reach(region->target, std::move(handler));
    }
    if (is_jump(now.op)) reach(now.target, after(at, true));
    if (!ends_flow(now.op)) reach(at + 1, after(at, false));
  }
}

std::vector<SlotKind> StackLayout::after(int32_t instruction, bool jump) const {
  const Instruction& now = bytecode_.instructions[instruction];
  std::vector<SlotKind> layout = before_[instruction];
  const auto depth = static_cast<int32_t>(layout.size());
  const int32_t after_depth = depth + stack_effect(now, jump);
  switch (now.op) {
    case Op::PUSH_NULL:
      layout.push_back(SlotKind::Null);
      return layout;
    case Op::PUSH_NULL_BELOW:
      layout.insert(layout.end() - 1, SlotKind::Null);
      return layout;
    case Op::LOAD_GLOBAL:
      if (now.push_null) layout.push_back(SlotKind::Null);
      layout.push_back(SlotKind::Value);
      return layout;
    case Op::LOAD_FAST_AND_CLEAR:
      layout.push_back(SlotKind::Saved);
      return layout;
    case Op::LOAD_SUPER_METHOD:
      layout.resize(depth - 2);
      [[fallthrough]];
    case Op::LOAD_METHOD:
    case Op::LOAD_SPECIAL:
      layout.back() = SlotKind::Method;
      layout.push_back(SlotKind::MethodSelf);
      return layout;
    case Op::PUSH_EXC_INFO:
      layout.back() = SlotKind::PreviousException;
      layout.push_back(SlotKind::Value);
      return layout;
    case Op::COPY:
      layout.push_back(layout[depth - now.arg]);
      return layout;
    case Op::SWAP:
      std::swap(layout[depth - 1], layout[depth - now.arg]);
      return layout;
    default:
      break;
  }
  layout.resize(depth - stack_inputs(now) + kept_operands(now, jump));
  layout.resize(after_depth, SlotKind::Value);
  return layout;
}

void StackLayout::reach(int32_t instruction, std::vector<SlotKind> layout) {
  if (instruction >= static_cast<int32_t>(before_.size()) || reached_[instruction]) return;
  reached_[instruction] = true;
  before_[instruction] = std::move(layout);
  pending_.push_back(instruction);
}

}  // namespace minidynamo
