// Plan -> residual function: the code that runs on every call of a compiled frame, so every instruction counts.
//
// The graph's call is put where its first output is needed, after constants and live values that lie below it on the
// stack; if the outputs then come in the order that UNPACK_SEQUENCE leaves them, they are used from the stack. A frame
// that returns one tensor is eight instructions. All instructions carry the function's first line.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "bytecode/instruction.h"
#include "emit/break_code.h"
#include "emit/code_builder.h"
#include "emit/plan.h"
#include "emit/resume.h"
#include "emit/schedule.h"
#include "python/code/code_object.h"

namespace minidynamo {
namespace {

using Kind = PlanStep::Kind;
using Place = Schedule::Place;

class ResidualCode {
 public:
  ResidualCode(const Plan& plan, PyCodeObject* original, PyObject* globals, PyObject* compiled)
      : plan_(plan), original_(original), globals_(globals), compiled_(compiled) {}

  LentFunction make() {
    if (!make_schedule(plan_, schedule_)) return {};
    const int32_t first_line = view_code(original_).first_line;
    code_.at({first_line, first_line, -1, -1});
    code_.add_local("inputs");
    code_.add_local("live");
    locals_.assign(plan_.steps.size(), -1);
    output_locals_.assign(plan_.output_count, -1);
    emit_body();
    insert_graph_call();
    const bool is_start = !find_resume_function(original_);
    Ref code = code_.assemble(original_, 2, is_start ? ResumeArgument::Start : ResumeArgument::Uninterrupted);
    return {std::move(code), code_.variables()};
  }

 private:
  void emit(Op op, int32_t arg = 0) { code_.emit(op, arg); }

  void emit_body() {
    for (ValueId id = 0; id < plan_.steps.size(); ++id) {
      const Place place = schedule_.places[id];
      if (place == Place::Local) {
        evaluate(id);
        locals_[id] = code_.add_local("v" + std::to_string(id));
        emit(Op::STORE_FAST, locals_[id]);
      } else if (place == Place::Statement) {
        evaluate(id);
      }
    }
    if (plan_.end) {
      for (const ValueId id : schedule_.live_to_drop) drop_live(plan_.steps[id].index);
      if (plan_.frees_locals) drop_live(-1);
      for (const ValueId id : schedule_.locals_to_drop) emit(Op::DELETE_FAST, locals_[id]);
      write_break(code_, *plan_.end, globals_,
                  {[this](ValueId id) { push(id); }, [this](ValueId id) { return locals_[id]; },
                   [this](ValueId id) { forget(id); }, has_live()});
      return;
    }
    if (plan_.result == kNoValue) {
      code_.load_constant(Py_None);
    } else {
      push(plan_.result);
    }
    emit(Op::RETURN_VALUE);
  }

  void drop_live(int64_t index) {
    code_.load_constant(Py_None);
    emit(Op::LOAD_FAST, kLive);
    code_.load_constant(Ref::made(PyLong_FromLongLong(index)).get());
    emit(Op::STORE_SUBSCR);
  }

  void forget(ValueId id) {
    if (plan_.steps[id].kind == Kind::Live) drop_live(plan_.steps[id].index);
    if (locals_[id] >= 0) code_.forget_local(locals_[id]);
  }

  bool has_live() const {
    return std::any_of(plan_.steps.begin(), plan_.steps.end(),
                       [](const PlanStep& step) { return step.kind == Kind::Live; });
  }

  void push(ValueId id) {
    if (locals_[id] >= 0) {
      emit(Op::LOAD_FAST, locals_[id]);
    } else {
      evaluate(id);
    }
  }

  // Leaves the step's value on the stack; an effect leaves nothing.
  void evaluate(ValueId id) {
    const PlanStep& step = plan_.steps[id];
    if (step.kind == Kind::Call || step.kind == Kind::CallEffect) {
      code_.begin_uninterrupted_call([&] { code_.load_constant(step.object.get()); });
    }
    const OperandOrder operands(step);
    for (size_t i = 0; i < operands.size(); ++i) push(operands[i]);
    const auto count = static_cast<int32_t>(operands.size());
    switch (step.kind) {
      case Kind::Constant:
        code_.load_constant(step.object.get());
        break;
      case Kind::Live:
        emit(Op::LOAD_FAST, kLive);
        code_.load_constant(Ref::made(PyLong_FromUnsignedLong(step.index)).get());
        emit(Op::BINARY_SUBSCR);
        break;
      case Kind::Output:
        emit(Op::LOAD_FAST, output_local(step.index));
        break;
      case Kind::Tuple:
        emit(Op::BUILD_TUPLE, count);
        break;
      case Kind::List:
        emit(Op::BUILD_LIST, count);
        break;
      case Kind::Set:
        emit(Op::BUILD_SET, count);
        break;
      case Kind::Dict:
        emit(Op::BUILD_MAP, count / 2);
        break;
      case Kind::Slice:
        emit(Op::BUILD_SLICE, count);
        break;
      case Kind::Call:
        code_.end_uninterrupted_call(count);
        break;
      case Kind::CallEffect:
        code_.end_uninterrupted_call(count);
        emit(Op::POP_TOP);
        break;
      case Kind::SetAttribute:
        if (!OperandOrder::sets_by_name(step)) emit(Op::SWAP, 2);
        emit(Op::STORE_ATTR, code_.name(step.object.get()));
        break;
      case Kind::DeleteAttribute:
        emit(Op::DELETE_ATTR, code_.name(step.object.get()));
        break;
      case Kind::SetItem:
        emit(Op::STORE_SUBSCR);
        break;
      case Kind::DeleteItem:
        emit(Op::DELETE_SUBSCR);
        break;
    }
  }

  int32_t output_local(uint32_t output) {
    int32_t& local = output_locals_[output];
    if (local < 0) {
      local = code_.add_local("out" + std::to_string(output));
      outputs_by_local_.emplace(local, output);
    }
    return local;
  }

  // Nothing that the graph's call could see, or that could see it.
  static bool is_invisible(Op op) noexcept {
    switch (op) {
      case Op::PUSH_NULL:
      case Op::PUSH_NULL_BELOW:
      case Op::LOAD_CONST:
      case Op::LOAD_DEREF:
      case Op::LOAD_FAST:
      case Op::STORE_FAST:
      case Op::BINARY_SUBSCR:  // reads an item of `live`
      case Op::BUILD_TUPLE:
      case Op::BUILD_LIST:
      case Op::BUILD_SLICE:
        return true;
      default:
        return false;
    }
  }

  // The output that an instruction of the body loads, or -1.
  int32_t output_loaded(size_t index) {
    const auto& body = code_.instructions();
    if (index >= body.size() || body[index].op != Op::LOAD_FAST) return -1;
    const auto found = outputs_by_local_.find(body[index].arg);
    return found == outputs_by_local_.end() ? -1 : static_cast<int32_t>(found->second);
  }
  bool takes_from_stack(size_t index, uint32_t output) {
    return output_loaded(index) == static_cast<int32_t>(output) && schedule_.output_uses[output] == 1;
  }

  void insert_graph_call() {
    if (!plan_.calls_graph) return;
    const auto& body = code_.instructions();
    size_t at = 0;  // where the call goes
    while (at < body.size() && is_invisible(body[at].op) && output_loaded(at) < 0) ++at;
    if (output_loaded(at) < 0) at = 0;

    const uint32_t count = plan_.output_count;
    const bool any_used = !outputs_by_local_.empty();
    bool all_on_stack = count >= 1 && count <= 3;
    for (uint32_t i = 0; i < count && all_on_stack; ++i) all_on_stack = takes_from_stack(at + i, i);
    const bool last_on_stack = !all_on_stack && count > 0 && takes_from_stack(at, count - 1);

    std::vector<Instruction> call;
    const int32_t first_line = view_code(original_).first_line;
    auto add = [&](Op op, int32_t arg = 0) {
      call.push_back({op, false, arg, -1, -1, {first_line, first_line, -1, -1}});
    };
    begin_call(add, [&] { add(Op::LOAD_DEREF, code_.variable(plan_.compiled_name, compiled_, false)); });
    add(Op::LOAD_FAST, kInputs);
    end_spread_call(add, false);
    size_t replaced = 0;  // instructions of the body that the stack makes superfluous
    if (!any_used) {
      add(Op::POP_TOP);
    } else {
      add(Op::UNPACK_SEQUENCE, static_cast<int32_t>(count));
      if (all_on_stack) {
        if (count > 1) add(Op::SWAP, static_cast<int32_t>(count));  // for up to three, that reverses
        replaced = count;
      } else {
        for (uint32_t i = 0; i < count - (last_on_stack ? 1 : 0); ++i)
          output_locals_[i] < 0 ? add(Op::POP_TOP) : add(Op::STORE_FAST, output_locals_[i]);
        replaced = last_on_stack ? 1 : 0;
      }
    }
    code_.insert(at, call, replaced);
  }

  const Plan& plan_;
  PyCodeObject* const original_;
  PyObject *const globals_, *const compiled_;
  Schedule schedule_;
  CodeBuilder code_;
  std::vector<int32_t> locals_;         // by step; -1: not in a variable (yet)
  std::vector<int32_t> output_locals_;  // by output; -1: not needed
  std::unordered_map<int32_t, uint32_t> outputs_by_local_;
};

}  // namespace

LentFunction residual_function(const Plan& plan, PyCodeObject* original, PyObject* globals, PyObject* compiled) {
  return ResidualCode(plan, original, globals, compiled).make();
}

}  // namespace minidynamo
