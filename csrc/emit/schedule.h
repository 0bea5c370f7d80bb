// In which order, and where, a plan's steps are evaluated: shared by the bytecode and the printed source, so that the
// two cannot differ.
//
// A value used once is made in place, as an operand of its use; one used more often is kept in a local variable. Steps
// that run code of others (calls, hashing, writes) keep the plan's order among themselves; a value whose making in
// place would change that order goes to a local variable instead. Constants are loaded wherever they are used.
#pragma once
#include <cstdint>
#include <vector>

#include "emit/plan.h"

namespace minidynamo {

bool is_effect(PlanStep::Kind kind) noexcept;  // defines no value

// Operand positions in the order of their evaluation, as Python evaluates the statement: the value of an assignment
// first. Setting an attribute whose name is no identifier is a call of setattr, its operands in their own order.
class OperandOrder {
 public:
  explicit OperandOrder(const PlanStep& step) noexcept
      : step_(step), value_first_(step.kind == PlanStep::Kind::SetItem || sets_by_name(step)) {}
  size_t size() const noexcept { return step_.operands.size(); }
  ValueId operator[](size_t position) const noexcept {
    if (!value_first_) return step_.operands[position];
    return position == 0 ? step_.operands.back() : step_.operands[position - 1];
  }

  // True if the step is written `owner.name = value`.
  static bool sets_by_name(const PlanStep& step) noexcept {
    return step.kind == PlanStep::Kind::SetAttribute && PyUnicode_IsIdentifier(step.object.get()) == 1;
  }

 private:
  const PlanStep& step_;
  bool value_first_;
};

struct Schedule {
  enum class Place : uint8_t {
    Nowhere,   // nothing needs it
    InPlace,   // evaluated as part of its use
    Local,     // evaluated at its turn, into a local variable
    Statement  // an effect, at its turn
  };
  std::vector<Place> places;          // by step; outputs of the compiled function are InPlace
  std::vector<uint32_t> output_uses;  // by output index
  // Before a break, what it does not use is let go of, since the program may have: live values that were taken from
  // `live`, and local variables.
  std::vector<ValueId> live_to_drop, locals_to_drop;
};

// False with a Python error (ValueError) if the plan is not well-formed.
bool make_schedule(const Plan& plan, Schedule& schedule);

}  // namespace minidynamo
