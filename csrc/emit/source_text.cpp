// Plan -> Python source, for people: the same statements in the same order as the residual function's bytecode.
//
// Objects that no expression names print as constant_0, constant_1..., listed with their types above the function.
#include <string>
#include <unordered_map>
#include <vector>

#include "emit/constant_text.h"
#include "emit/plan.h"
#include "emit/resume.h"
#include "emit/schedule.h"
#include "python/code/code_object.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

using Kind = PlanStep::Kind;
using Place = Schedule::Place;
using Continuation = PlanBreak::Continuation;

class SourceWriter {
 public:
  SourceWriter(const Plan& plan, PyCodeObject* original)
      : plan_(plan), code_(original), original_(view_code(original)) {}

  std::string write() {
    if (!make_schedule(plan_, schedule_)) {
      clear_error();
      return "# not a well-formed plan\n";
    }
    if (plan_.calls_graph) line(graph_call());
    for (ValueId id = 0; id < plan_.steps.size(); ++id) {
      if (schedule_.places[id] == Place::Local) line("v" + std::to_string(id) + " = " + expression(id));
      if (schedule_.places[id] == Place::Statement) line(statement(id));
    }
    for (const ValueId id : schedule_.live_to_drop) line("live[" + std::to_string(plan_.steps[id].index) + "] = None");
    if (plan_.frees_locals) line("live[-1] = None");
    for (const ValueId id : schedule_.locals_to_drop) line("del v" + std::to_string(id));
    if (plan_.end)
      write_break(*plan_.end);
    else
      line("return " + (plan_.result == kNoValue ? "None" : use(plan_.result)));
    return head() + body_;
  }

 private:
  void line(const std::string& text) { body_ += std::string(4 * (indent_ + 1), ' ') + text + "\n"; }

  std::string head() const {
    std::string text = "# residual code of " + display_name(code_) + ", " + utf8_text(original_.filename) + ":" +
                       std::to_string(original_.first_line) + "\n";
    for (size_t i = 0; i < opaque_.size(); ++i) {
      text += "# constant_" + std::to_string(i) + ": " + opaque_text(opaque_[i]) + "\n";
    }
    const bool has_name = PyUnicode_IsIdentifier(original_.name) == 1;  // "<lambda>" has none
    return text + "def " + (has_name ? utf8_text(original_.name) : "residual") + "(inputs, live):\n";
  }

  // --- the end at a graph break: the instruction as an expression or statement, then the resume functions

  void write_break(const PlanBreak& end) {
    if (end.instruction.op == Op::NOP) return go_on(*end.next);
    for (size_t i = 0; i < end.frames.size(); ++i)
      line(std::string(i ? "#   which calls " : "# goes on in ") + place(end.frames[i]));
    if (end.handled != kNoValue) line("# while handling " + use(end.handled));
    if (end.raised) line("try:");
    indent_ = end.raised ? 1 : 0;
    const std::string condition = condition_of(end);
    if (!condition.empty()) {
      line(condition);
      ++indent_;
      go_on(*end.next);
      --indent_;
      go_on(*end.jump);
    } else {
      const Continuation* way = end.next ? &*end.next : end.jump ? &*end.jump : nullptr;
      std::string results;
      for (uint32_t i = 0; way && i < way->results; ++i) results += (i ? ", r" : "r") + std::to_string(i);
      line((results.empty() ? "" : results + " = ") + run_text(end));
      if (way) go_on(*way);
    }
    indent_ = 0;
    if (!end.raised) return;
    line("except BaseException as exception:");
    ++indent_;
    if (end.raised->traceback_entries)
      line("drop_traceback(exception, " + std::to_string(end.raised->traceback_entries) + ")");
    go_on(*end.raised);
    --indent_;
  }

  static std::string place(const PlanBreak::FrameAppearance& frame) {
    const CodeView look = view_code(as_code(frame.code.get()));
    return utf8_text(look.qualname) + ", line " + std::to_string(frame.position.line);
  }

  std::string operand_text(const PlanBreak& end, size_t index) {
    return end.operands[index] == kNoValue ? "NULL" : use(end.operands[index]);
  }

  // The head of the statement under which the instruction's next way lies; "" if it has one way.
  std::string condition_of(const PlanBreak& end) {
    const auto last = [&] { return operand_text(end, end.operands.size() - 1); };
    switch (end.instruction.op) {
      case Op::POP_JUMP_IF_FALSE:
        return "if " + last() + ":";
      case Op::POP_JUMP_IF_TRUE:
        return "if not " + last() + ":";
      case Op::POP_JUMP_IF_NONE:
        return "if " + last() + " is not None:";
      case Op::POP_JUMP_IF_NOT_NONE:
        return "if " + last() + " is None:";
      case Op::FOR_ITER:
        return "for r0 in " + last() + ":";
      case Op::JUMP_IF_FALSE_OR_POP:
        return "if r0 := " + last() + ":";
      case Op::JUMP_IF_TRUE_OR_POP:
        return "if not (r0 := " + last() + "):";
      default:
        return "";
    }
  }

  std::string run_text(const PlanBreak& end) {
    const size_t count = end.operands.size();
    std::string arguments;
    if (end.instruction.op == Op::CALL && count >= 2) {
      const size_t keywords = end.keyword_names ? PyTuple_GET_SIZE(end.keyword_names.get()) : 0;
      const size_t callable = end.operands[0] == kNoValue ? 1 : 0;
      for (size_t i = callable + 1; i < count; ++i) {
        if (i > callable + 1) arguments += ", ";
        if (i >= count - keywords)
          arguments += utf8_text(PyTuple_GET_ITEM(end.keyword_names.get(), i - (count - keywords))) + "=";
        arguments += operand_text(end, i);
      }
      return operand_text(end, callable) + "(" + arguments + ")";
    }
    if (end.argument) arguments = "'" + utf8_text(end.argument.get()) + "'";
    for (size_t i = 0; i < count; ++i) arguments += (arguments.empty() ? "" : ", ") + operand_text(end, i);
    return std::string(op_name(end.instruction.op)) + "(" + arguments + ")";
  }

  void go_on(const Continuation& way) {
    std::string text;
    for (const PlanBreak::Argument& argument : way.arguments)
      text += (text.empty() ? "" : ", ") + argument_text(argument);
    line("return " + utf8_text(way.function.name.get()) + "(" + text + ")");
  }

  std::string argument_text(const PlanBreak::Argument& argument, int depth = 0) {
    constexpr int kDeepest = 12;  // depth of inlined calls
    if (depth > kDeepest) return "...";
    using ArgumentKind = PlanBreak::Argument::Kind;
    std::string items;
    switch (argument.kind) {
      case ArgumentKind::Value:
        return use(argument.index);
      case ArgumentKind::Result:
        return "r" + std::to_string(argument.index);
      case ArgumentKind::Exception:
        return "exception";
      case ArgumentKind::Constant:
        return constant(argument.constant.get());
      case ArgumentKind::Match:
        return "r1 if r1 is not None else " + use(argument.index);
      case ArgumentKind::Function:
        return utf8_text(argument.function.name.get());
      case ArgumentKind::List:
        for (const PlanBreak::Argument& item : argument.items) items += argument_text(item, depth + 1) + ", ";
        return "[" + items.substr(0, items.size() - 2) + "]";
    }
    return "";
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
  PyCodeObject* const code_;
  const CodeView original_;
  Schedule schedule_;
  std::string body_;
  int indent_ = 0;
  std::vector<PyObject*> opaque_;
  std::unordered_map<PyObject*, size_t> opaque_indices_;
};

}  // namespace

std::string to_source(const Plan& plan, PyCodeObject* original) { return SourceWriter(plan, original).write(); }

}  // namespace minidynamo
