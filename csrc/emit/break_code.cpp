#include "emit/break_code.h"

#include "bytecode/op_facts.h"
#include "emit/rebuild.h"
#include "python/objects/weak_hold.h"

namespace minidynamo {
namespace {

using Argument = PlanBreak::Argument;
using Continuation = PlanBreak::Continuation;

class BreakWriter {
 public:
  BreakWriter(CodeBuilder& code, const PlanBreak& end, PyObject* globals, const ResidualValues& values)
      : code_(code), end_(end), globals_(globals), values_(values) {}

  void write() {
    code_.at(end_.frames[0].position);
    if (end_.instruction.op == Op::NOP) {
      go_on(*end_.next);
    } else if (end_.frames.size() == 1) {
      run_here([this](size_t operand) { values_.push(end_.operands[operand]); }, [this] { values_.push(end_.handled); },
               [this](const Continuation& way, const std::vector<int32_t>&) { go_on(way); });
    } else {
      run_in_chain();
    }
  }

 private:
  CodeBuilder& code_;
  const PlanBreak& end_;
  PyObject* const globals_;
  const ResidualValues& values_;
  std::vector<int32_t> results_;  // locals
  int32_t exception_ = -1;        // local

  using FinishWay = std::function<void(const Continuation&, const std::vector<int32_t>&)>;

  // The instruction in this code, between putting its operands on the stack and taking its results from it.
  void run_here(const std::function<void(size_t)>& push_operand, const std::function<void()>& push_handled,
                const FinishWay& finish) {
    const bool sets_handled = end_.handled != kNoValue;
    const bool handles = end_.raised.has_value() || sets_handled || (empties_stacks() && end_.frames.size() == 1);
    const CodeBuilder::Label start = code_.make_label(), stop = code_.make_label(), jump = code_.make_label(),
                             raised = code_.make_label();
    if (sets_handled) {
      push_handled();
      code_.emit(Op::PUSH_EXC_INFO);
      code_.emit(Op::POP_TOP);
    }
    // Operands that stay are looked at and then popped, which a null cannot be: another object stands in its place.
    // (What WITH_EXCEPT_START is given may have one, and is popped by the compiler's code too.)
    const bool some_stay = end_.next && end_.next->kept && end_.instruction.op != Op::WITH_EXCEPT_START;
    const auto push_null = [&](Op op, int32_t arg) { some_stay ? code_.load_constant(Py_None) : code_.emit(op, arg); };
    push_slots(
        push_null, end_.operands.size(), [this](size_t i) { return end_.operands[i] == kNoValue; }, push_operand);
    if (end_.frames.size() == 1) forget_moved();
    code_.begin_protected(start);
    emit_instruction(jump);
    code_.bind(stop);
    auto way = [&](const std::optional<Continuation>& taken) {
      collect(taken->results, taken->kept);
      if (sets_handled) code_.emit(Op::POP_EXCEPT);
      finish(*taken, results_);
    };
    if (end_.next) way(end_.next);
    if (end_.jump) {
      code_.bind(jump);
      way(end_.jump);
    }
    if (!handles) return;
    code_.bind(raised);
    code_.handle(start, stop, raised, sets_handled ? 1 : 0);
    if (sets_handled) {
      code_.emit(Op::SWAP, 2);
      code_.emit(Op::POP_EXCEPT);
    }
    if (end_.raised && end_.frames.size() == 1) return handle_exception();
    if (end_.frames.size() == 1) empty_stacks();
    code_.emit(Op::RERAISE, 0);
  }

  void forget_moved() {
    for (const ValueId id : end_.moved) values_.forget(id);
  }

  bool empties_stacks() const { return !end_.raised && !end_.only_on_stack.empty(); }

  // The exception leaves this frame, which its traceback keeps.
  void empty_stacks() {
    if (!empties_stacks()) return;
    code_.forget_local(kLive);
    for (const ValueId id : end_.only_on_stack)
      if (const int32_t local = values_.local_of(id); local >= 0) code_.forget_local(local);
  }

  // The caller still holds the list.
  void empty_live() {
    code_.emit(Op::LOAD_FAST, kLive);
    code_.load_constant(Py_None);
    code_.load_constant(Py_None);
    code_.emit(Op::BUILD_SLICE, 2);
    code_.emit(Op::DELETE_SUBSCR);
  }

  void emit_instruction(CodeBuilder::Label jump) {
    if (end_.keyword_names) code_.emit(Op::KW_NAMES, code_.constant(end_.keyword_names.get()));
    Instruction now = end_.instruction;
    if (now.op == Op::LOAD_METHOD) now.op = Op::LOAD_ATTR;  // one callable, whatever it is
    if (now.op == Op::LOAD_SUPER_METHOD) now.op = Op::LOAD_SUPER_ATTR;
    if (now.op == Op::RERAISE) now.arg = 0;
    if (now.op == Op::LOAD_SPECIAL) return emit_special_method(static_cast<SpecialMethod>(now.arg));
    if (is_jump(now.op)) return code_.emit_jump(now.op, jump);
    if (kCallMaySkipHook && now.op == Op::CALL && !end_.keyword_names && end_.operands.front() == kNoValue) {
      code_.emit(Op::BUILD_TUPLE, now.arg);
      code_.emit(Op::CALL_FUNCTION_EX, 0);
      return;
    }
    code_.emit(now.op, end_.argument ? code_.name(end_.argument.get()) : now.arg);
    code_.instructions().back().has_arguments = now.has_arguments;
  }

  // One callable, where the instruction has two results.
  void emit_special_method(SpecialMethod method) {
    make_results(1);
    code_.emit(Op::STORE_FAST, results_[0]);
    code_.begin_uninterrupted_call([&] { code_.load_constant(special_method_callable()); });
    code_.emit(Op::LOAD_FAST, results_[0]);
    const Ref name = Ref::made(PyUnicode_InternFromString(name_of(method)));
    code_.load_constant(name.get());
    code_.end_uninterrupted_call(2);
  }

  void make_results(uint32_t count) {
    while (results_.size() < count) results_.push_back(code_.add_local("r" + std::to_string(results_.size())));
  }

  // Results into locals, kept operands away.
  void collect(uint32_t count, uint32_t kept) {
    make_results(count);
    for (uint32_t i = count; i-- > 0;) code_.emit(Op::STORE_FAST, results_[i]);
    for (uint32_t i = 0; i < kept; ++i) code_.emit(Op::POP_TOP);
  }

  void handle_exception() {
    if (exception_ < 0) exception_ = code_.add_local("exception");
    code_.emit(Op::STORE_FAST, exception_);
    if (end_.raised->traceback_entries > 0) {
      code_.begin_uninterrupted_call([&] { code_.load_constant(drop_traceback_callable()); });
      code_.emit(Op::LOAD_FAST, exception_);
      const Ref count = Ref::made(PyLong_FromUnsignedLong(end_.raised->traceback_entries));
      code_.load_constant(count.get());
      code_.end_uninterrupted_call(2);
      code_.emit(Op::POP_TOP);
    }
    go_on(*end_.raised, true);
  }

  // The exception's traceback keeps this frame: what the handler must not find alive any more is let go of first.
  void go_on(const Continuation& way, bool frame_is_kept = false) {
    code_.begin_call([&] { push_function(way.function); });
    for (const Argument& argument : way.arguments) push_argument(argument);
    if (frame_is_kept && values_.has_live) empty_live();
    for (int32_t local = 0; frame_is_kept && local < code_.locals(); ++local) code_.forget_local(local);
    code_.end_call(static_cast<int32_t>(way.arguments.size()));
    code_.emit(Op::RETURN_VALUE);
  }

  void push_argument(const Argument& argument) {
    switch (argument.kind) {
      case Argument::Kind::Value:
        values_.push(argument.index);
        break;
      case Argument::Kind::Result:
        code_.emit(Op::LOAD_FAST, results_[argument.index]);
        break;
      case Argument::Kind::Exception:
        code_.emit(Op::LOAD_FAST, exception_);
        break;
      case Argument::Kind::Constant:
        code_.load_constant(argument.constant.get());
        break;
      case Argument::Kind::Function:
        push_function(argument.function);
        break;
      case Argument::Kind::Match: {
        const CodeBuilder::Label matched = code_.make_label();
        code_.emit(Op::LOAD_FAST, results_[1]);
        code_.emit(Op::COPY, 1);
        code_.emit_jump(Op::POP_JUMP_IF_NOT_NONE, matched);
        code_.emit(Op::POP_TOP);
        values_.push(argument.index);
        code_.bind(matched);
        break;
      }
      case Argument::Kind::List:
        for (const Argument& item : argument.items) push_argument(item);
        code_.emit(Op::BUILD_LIST, static_cast<int32_t>(argument.items.size()));
        break;
    }
  }

  // A function of the code, with the globals of its own module: those of the code being written, mostly.
  void push_function(const PlanBreak::NewFunction& made) {
    push_function(made.globals.get(),
                  [&] { code_.load_variable(PyUnicode_AsUTF8(made.name.get()), made.code.get(), true); });
  }

  template <class LoadCode>
  void push_function(PyObject* globals, LoadCode load_code) {
    const bool is_own = globals == globals_;
    code_.begin_uninterrupted_call([&] { code_.load_constant(make_function_callable()); });
    load_code();
    if (!is_own) code_.load_constant(owner_of_names(globals));
    code_.end_uninterrupted_call(is_own ? 1 : 2);
  }

  // --- inlined calls

  void run_in_chain() {
    const CodeBuilder::Label start = code_.make_label(), stop = code_.make_label(), raised = code_.make_label();
    int32_t count = begin_chain() - 1;
    for (const ValueId operand : end_.operands)
      if (operand != kNoValue) values_.push(operand), ++count;
    if (end_.handled != kNoValue) values_.push(end_.handled), ++count;
    forget_moved();
    code_.begin_protected(start);
    code_.end_call(count);
    code_.bind(stop);
    const CodeBuilder::Label jump = code_.make_label();
    if (end_.next && end_.jump) {
      code_.emit(Op::COPY, 1);
      code_.load_constant(Ref::made(PyLong_FromLong(0)).get());
      code_.emit(Op::BINARY_SUBSCR);
      code_.emit_jump(Op::POP_JUMP_IF_TRUE, jump);
      unpack_after_flag(*end_.next);
      code_.bind(jump);
      unpack_after_flag(*end_.jump);
    } else if (end_.next || end_.jump) {
      const Continuation& way = end_.next ? *end_.next : *end_.jump;
      make_results(way.results);
      if (way.results == 0) code_.emit(Op::POP_TOP);
      if (way.results > 1) code_.emit(Op::UNPACK_SEQUENCE, static_cast<int32_t>(way.results));
      for (uint32_t i = 0; i < way.results; ++i) code_.emit(Op::STORE_FAST, results_[i]);
      go_on(way);
    } else {
      code_.emit(Op::RETURN_VALUE);  // the instruction always raises
    }
    if (!end_.raised && !empties_stacks()) return;
    code_.bind(raised);
    code_.handle(start, stop, raised, 0);
    if (end_.raised) return handle_exception();
    empty_stacks();
    code_.emit(Op::RERAISE, 0);
  }

  void unpack_after_flag(const Continuation& way) {
    make_results(way.results);
    code_.emit(Op::UNPACK_SEQUENCE, static_cast<int32_t>(way.results + 1));
    code_.emit(Op::POP_TOP);
    for (uint32_t i = 0; i < way.results; ++i) code_.emit(Op::STORE_FAST, results_[i]);
    go_on(way);
  }

  // Puts the functions that look like the frames of the inlined calls on the stack: the one to call, and the others as
  // its first arguments. Returns how many there are.
  int32_t begin_chain() {
    const auto last = static_cast<int32_t>(end_.frames.size()) - 1;
    for (int32_t i = 1; i <= last; ++i) {
      CodeBuilder code;
      const PlanBreak::FrameAppearance& look = end_.frames[i];
      code.at(look.position);
      int32_t count = 0;
      for (int32_t inner = i + 1; inner <= last; ++inner) code.add_local("callee" + std::to_string(count++));
      const int32_t callees = count;
      for (const ValueId operand : end_.operands)
        if (operand != kNoValue) code.add_local("operand" + std::to_string(count++ - callees));
      if (end_.handled != kNoValue) ++count, code.add_local("handled");
      if (i < last) {
        code.begin_call([&] { move_local(code, 0); });
        for (int32_t local = 1; local < count; ++local) move_local(code, local);
        code.end_call(count - 1);
        code.emit(Op::RETURN_VALUE);
      } else {
        run_innermost(code, count);
      }
      const Ref assembled = code.assemble(as_code(look.code.get()), count, ResumeArgument::Uninterrupted);
      const auto push_it = [&] {
        // Null: noticed by the assembler of the residual function.
        push_function(look.globals.get(), [&] { code_.load_own(assembled.get()); });
      };
      i == 1 ? code_.begin_call(push_it) : push_it();
    }
    return last;
  }

  // A traceback keeps the frame: its variables hold nothing that lies on the stack.
  static void move_local(CodeBuilder& code, int32_t local) {
    code.emit(Op::LOAD_FAST, local);
    code.emit(Op::DELETE_FAST, local);
  }

  void run_innermost(CodeBuilder& code, int32_t parameters) {
    const bool flags_way = end_.next && end_.jump;
    BreakWriter inner(code, end_, globals_, values_);
    int32_t next = 0;
    inner.run_here([&](size_t) { move_local(code, next++); }, [&] { move_local(code, parameters - 1); },
                   [&](const Continuation& way, const std::vector<int32_t>& results) {
                     if (flags_way) code.load_constant(&way == &*end_.jump ? Py_True : Py_False);
                     for (uint32_t i = 0; i < way.results; ++i) code.emit(Op::LOAD_FAST, results[i]);
                     const auto count = static_cast<int32_t>(way.results) + (flags_way ? 1 : 0);
                     if (flags_way || count != 1) code.emit(Op::BUILD_TUPLE, count);
                     code.emit(Op::RETURN_VALUE);
                   });
  }
};

}  // namespace

void write_break(CodeBuilder& code, const PlanBreak& end, PyObject* globals, const ResidualValues& values) {
  BreakWriter(code, end, globals, values).write();
}

}  // namespace minidynamo
