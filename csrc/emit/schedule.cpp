#include "emit/schedule.h"

#include <algorithm>

namespace minidynamo {
namespace {

using Kind = PlanStep::Kind;
using Place = Schedule::Place;

// How deep one expression may nest: keeps the source readable and the emitters' recursion shallow.
constexpr uint32_t kMaxHeight = 24;

// True if evaluating the step may run code that sees what other such steps did.
bool is_ordered(Kind kind) noexcept {
  return is_effect(kind) || kind == Kind::Call || kind == Kind::Set || kind == Kind::Dict;
}

bool is_leaf(Kind kind) noexcept { return kind == Kind::Constant || kind == Kind::Live || kind == Kind::Output; }

bool fail(size_t step, const char* reason) {
  PyErr_Format(PyExc_ValueError, "residual plan, step %zu: %s", step, reason);
  return false;
}

bool check_step(const Plan& plan, size_t id) {
  const PlanStep& step = plan.steps[id];
  const size_t count = step.operands.size();
  for (const ValueId operand : step.operands) {
    if (operand >= id) return fail(id, "an operand is not defined before");
    if (is_effect(plan.steps[operand].kind)) return fail(id, "an operand is not a value");
  }
  switch (step.kind) {
    case Kind::Constant:
      return (step.object && count == 0) || fail(id, "malformed constant");
    case Kind::Live:
      return (step.index <= INT32_MAX && count == 0) || fail(id, "malformed live value");
    case Kind::Output:
      return (plan.calls_graph && step.index < plan.output_count && count == 0) || fail(id, "there is no such output");
    case Kind::Tuple:
    case Kind::List:
    case Kind::Set:
      return true;
    case Kind::Dict:
      return count % 2 == 0 || fail(id, "a key has no value");
    case Kind::Slice:
      return count == 3 || fail(id, "a slice has three operands");
    case Kind::Call:
    case Kind::CallEffect:
      return step.object || fail(id, "there is nothing to call");
    case Kind::SetAttribute:
    case Kind::DeleteAttribute:
      if (!step.object || !PyUnicode_CheckExact(step.object.get()))
        return fail(id, "the attribute's name is not a str");
      return count == (step.kind == Kind::SetAttribute ? 2 : 1) || fail(id, "wrong number of operands");
    case Kind::SetItem:
      return count == 3 || fail(id, "wrong number of operands");
    case Kind::DeleteItem:
      return count == 2 || fail(id, "wrong number of operands");
  }
  return fail(id, "unknown kind");
}

class Scheduler {
 public:
  Scheduler(const Plan& plan, Schedule& schedule) : plan_(plan), schedule_(schedule) {}

  bool run() {
    const size_t count = plan_.steps.size();
    for (size_t id = 0; id < count; ++id) {
      if (!check_step(plan_, id)) return false;
    }
    if (plan_.result != kNoValue && (plan_.result >= count || is_effect(plan_.steps[plan_.result].kind))) {
      return fail(plan_.result, "the result is not a value");
    }
    count_uses();
    place();
    while (move_out_of_order()) {
    }
    if (plan_.end) find_what_to_drop();
    return true;
  }

 private:
  void count_uses() {
    const size_t count = plan_.steps.size();
    uses_.assign(count, 0);
    used_in_break_.assign(count, false);
    schedule_.output_uses.assign(plan_.output_count, 0);
    if (plan_.result != kNoValue) ++uses_[plan_.result];
    if (plan_.end) {
      each_value(*plan_.end, [&](ValueId value) { use_in_break(value); });
      for (const ValueId value : plan_.end->released) ++uses_[value];
    }
    for (size_t id = count; id-- > 0;) {
      const PlanStep& step = plan_.steps[id];
      if (uses_[id] == 0 && !is_effect(step.kind)) continue;
      for (const ValueId operand : step.operands) ++uses_[operand];
      if (step.kind == Kind::Output) schedule_.output_uses[step.index] += uses_[id];
    }
  }

  // The values that a break uses are made before it, in the plan's order: as if each were used more than once.
  void use_in_break(ValueId value) {
    uses_[value] += 2;
    used_in_break_[value] = true;
  }

  void find_what_to_drop() {
    for (ValueId id = 0; id < plan_.steps.size(); ++id) {
      if (used_in_break_[id] || schedule_.places[id] == Place::Nowhere) continue;
      if (plan_.steps[id].kind == Kind::Live) schedule_.live_to_drop.push_back(id);
      if (schedule_.places[id] == Place::Local) schedule_.locals_to_drop.push_back(id);
    }
  }

  void place() {
    const size_t count = plan_.steps.size();
    schedule_.places.assign(count, Place::Nowhere);
    std::vector<uint32_t> heights(count, 0);
    for (size_t id = 0; id < count; ++id) {
      const PlanStep& step = plan_.steps[id];
      if (is_effect(step.kind)) {
        schedule_.places[id] = Place::Statement;
      } else if (uses_[id] > 0) {
        const bool anywhere = step.kind == Kind::Constant || step.kind == Kind::Output;
        schedule_.places[id] = anywhere || uses_[id] == 1 ? Place::InPlace : Place::Local;
      }
      for (const ValueId operand : step.operands) {
        if (schedule_.places[operand] != Place::InPlace) continue;
        if (heights[operand] >= kMaxHeight) {
          schedule_.places[operand] = Place::Local;
        } else {
          heights[id] = std::max(heights[id], heights[operand] + 1);
        }
      }
    }
  }

  // Follows the evaluation as it would happen; a value made in place after a later ordered step gets a variable of its
  // own.
  bool move_out_of_order() {
    moved_ = false;
    latest_ = 0;
    for (size_t id = 0; id < plan_.steps.size(); ++id) {
      const Place place = schedule_.places[id];
      if (place == Place::Local || place == Place::Statement) evaluate(static_cast<ValueId>(id));
    }
    if (plan_.result != kNoValue && schedule_.places[plan_.result] == Place::InPlace) evaluate(plan_.result);
    return moved_;
  }

  void evaluate(ValueId id) {
    const PlanStep& step = plan_.steps[id];
    if (is_leaf(step.kind)) return;
    const OperandOrder operands(step);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (schedule_.places[operands[i]] == Place::InPlace) evaluate(operands[i]);
    }
    if (!is_ordered(step.kind)) return;
    if (id + 1 < latest_) {
      schedule_.places[id] = Place::Local;
      moved_ = true;
    }
    latest_ = std::max(latest_, id + 1);
  }

  const Plan& plan_;
  Schedule& schedule_;
  std::vector<uint32_t> uses_;
  std::vector<bool> used_in_break_;
  ValueId latest_ = 0;  // one past the latest ordered step evaluated so far
  bool moved_ = false;
};

}  // namespace

bool is_effect(Kind kind) noexcept {
  switch (kind) {
    case Kind::SetAttribute:
    case Kind::DeleteAttribute:
    case Kind::SetItem:
    case Kind::DeleteItem:
    case Kind::CallEffect:
      return true;
    default:
      return false;
  }
}

bool make_schedule(const Plan& plan, Schedule& schedule) { return Scheduler(plan, schedule).run(); }

}  // namespace minidynamo
