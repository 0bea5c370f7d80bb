// Plan -> Python source, for people: the same statements in the same order as the residual function's bytecode.
//
// Objects that no expression names print as constant_0, constant_1..., listed with their types above the function.
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/constant_text.h"
#include "codegen/plan.h"
#include "codegen/schedule.h"
#include "python/code_object.h"

namespace minidynamo {
namespace {

using Kind = PlanStep::Kind;
using Place = Schedule::Place;

class SourceWriter {
 public:
  SourceWriter(const Plan& plan, PyCodeObject* original) : plan_(plan), original_(view_code(original)) {}

  std::string write() {
    if (!make_schedule(plan_, schedule_)) {
      PyErr_Clear();
      return "# not a well-formed plan\n";
    }
    if (plan_.calls_graph) line(graph_call());
    for (ValueId id = 0; id < plan_.steps.size(); ++id) {
      if (schedule_.places[id] == Place::Local) line("v" + std::to_string(id) + " = " + expression(id));
      if (schedule_.places[id] == Place::Statement) line(statement(id));
    }
    line("return " + (plan_.result == kNoValue ? "None" : use(plan_.result)));
    return head() + body_;
  }

 private:
  void line(const std::string& text) { body_ += "    " + text + "\n"; }

  std::string head() const {
    std::string text = "# residual code of " + utf8_text(original_.qualname) + ", " + utf8_text(original_.filename) +
                       ":" + std::to_string(original_.first_line) + "\n";
    for (size_t i = 0; i < opaque_.size(); ++i) {
      text += "# constant_" + std::to_string(i) + ": " + opaque_text(opaque_[i]) + "\n";
    }
    const bool has_name = PyUnicode_IsIdentifier(original_.name) == 1;  // "<lambda>" has none
    return text + "def " + (has_name ? utf8_text(original_.name) : "residual") + "(inputs, live):\n";
  }

  std::string graph_call() const {
    const std::string call = plan_.compiled_name + "(*inputs)";
    std::string targets;
    bool any_used = false;
    for (uint32_t i = 0; i < plan_.output_count; ++i) {
      const bool used = schedule_.output_uses[i] > 0;
      any_used |= used;
      if (i > 0) targets += ", ";
      targets += used ? "out" + std::to_string(i) : "_";
    }
    if (!any_used) return call;
    return (plan_.output_count == 1 ? "(" + targets + ",)" : targets) + " = " + call;
  }

  std::string use(ValueId id) {
    return schedule_.places[id] == Place::Local ? "v" + std::to_string(id) : expression(id);
  }
  std::string operand(const PlanStep& step, size_t position) { return use(step.operands[position]); }

  std::string operands(const PlanStep& step) {
    std::string text;
    for (size_t i = 0; i < step.operands.size(); ++i) text += (i > 0 ? ", " : "") + operand(step, i);
    return text;
  }

  std::string expression(ValueId id) {
    const PlanStep& step = plan_.steps[id];
    switch (step.kind) {
      case Kind::Constant:
        return constant(step.object.get());
      case Kind::Live:
        return "live[" + std::to_string(step.index) + "]";
      case Kind::Output:
        return "out" + std::to_string(step.index);
      case Kind::Tuple:
        return "(" + operands(step) + (step.operands.size() == 1 ? ",)" : ")");
      case Kind::List:
        return "[" + operands(step) + "]";
      case Kind::Set:
        return step.operands.empty() ? "set()" : "{" + operands(step) + "}";
      case Kind::Dict:
        return dict(step);
      case Kind::Slice:
        return "slice(" + operands(step) + ")";
      default:
        return constant(step.object.get()) + "(" + operands(step) + ")";
    }
  }

  std::string dict(const PlanStep& step) {
    std::string text = "{";
    for (size_t i = 0; i < step.operands.size(); i += 2) {
      text += (i > 0 ? ", " : "") + operand(step, i) + ": " + operand(step, i + 1);
    }
    return text + "}";
  }

  std::string statement(ValueId id) {
    const PlanStep& step = plan_.steps[id];
    switch (step.kind) {
      case Kind::SetAttribute:
        if (!OperandOrder::sets_by_name(step)) {
          return "setattr(" + operand(step, 0) + ", " + constant(step.object.get()) + ", " + operand(step, 1) + ")";
        }
        return attribute(step) + " = " + operand(step, 1);
      case Kind::DeleteAttribute:
        if (!has_plain_name(step)) return "delattr(" + operand(step, 0) + ", " + constant(step.object.get()) + ")";
        return "del " + attribute(step);
      case Kind::SetItem:
        return item(step) + " = " + operand(step, 2);
      case Kind::DeleteItem:
        return "del " + item(step);
      default:
        return expression(id);
    }
  }

  // The target of an attribute or item: in parentheses where a literal would not parse.
  std::string owner(const PlanStep& step) {
    const std::string text = operand(step, 0);
    return text[0] >= '0' && text[0] <= '9' ? "(" + text + ")" : text;
  }
  static bool has_plain_name(const PlanStep& step) { return PyUnicode_IsIdentifier(step.object.get()) == 1; }
  std::string attribute(const PlanStep& step) { return owner(step) + "." + utf8_text(step.object.get()); }
  std::string item(const PlanStep& step) { return owner(step) + "[" + operand(step, 1) + "]"; }

  std::string constant(PyObject* object) {
    if (const std::optional<std::string> text = constant_text(object)) return *text;
    const auto [entry, is_new] = opaque_indices_.try_emplace(object, opaque_.size());
    if (is_new) opaque_.push_back(object);
    return "constant_" + std::to_string(entry->second);
  }

  const Plan& plan_;
  const CodeView original_;
  Schedule schedule_;
  std::string body_;
  std::vector<PyObject*> opaque_;
  std::unordered_map<PyObject*, size_t> opaque_indices_;
};

}  // namespace

std::string to_source(const Plan& plan, PyCodeObject* original) { return SourceWriter(plan, original).write(); }

}  // namespace minidynamo
