#include "plan/exit.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "bytecode/op_facts.h"
#include "emit/resume.h"
#include "library/python/frame_readers.h"
#include "model/objects/generator.h"
#include "model/objects/object_end.h"
#include "model/protocols/arguments.h"
#include "model/protocols/rule.h"
#include "plan/effects.h"
#include "plan/new_leaves.h"
#include "plan/values.h"
#include "python/object_casts.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "tensor/autograd/history.h"
#include "tensor/fake/tensor_facts.h"
#include "tensor/process/function_mode_stack.h"
#include "world/external/known_types.h"
#include "world/external/scope.h"
#include "world/proxies/runtime_value.h"
#include "world/proxies/symbolic_float.h"
#include "world/torch/rerunnable_graph.h"

namespace minidynamo {
namespace {

using Argument = PlanBreak::Argument;
using Continuation = PlanBreak::Continuation;

// The sizes of a tensor that may differ at the next call; for an int or a float all bits, if it may.
uint64_t dynamic_dims(const Tracer& tracer, PyObject* object) {
  if (!tracer.symbols.may_have_symbols()) return 0;
  const auto is_open = [&](PyObject* number) {
    return is_symbolic_int(number) && !is_constant_expression(tracer.symbols.trace().simplify(expression_of(number)));
  };
  if (is_float_of_sizes(object)) {
    const Expression now = tracer.symbols.trace().simplify(float_expression_of(object).bits);
    return constant_value(FloatExpression{now}) ? 0 : ~uint64_t{0};
  }
  if (is_symbolic_float(object)) return facts_of_number(object).is_any ? ~uint64_t{0} : 0;
  if (is_symbolic_int(object)) return is_open(object) ? ~uint64_t{0} : 0;
  if (!is_fake(object) || !has_symbolic_sizes(object)) return 0;
  const Ref shape = native_attribute(object, "shape");
  if (!shape) return clear_error(), 0;
  uint64_t open = 0;
  for (Py_ssize_t i = 0; i < std::min<Py_ssize_t>(PyTuple_GET_SIZE(shape.get()), 64); ++i)
    if (is_open(PyTuple_GET_ITEM(shape.get(), i))) open |= uint64_t{1} << i;
  return open;
}

// True if calling it makes a weak reference to an argument. (Code in Python may do so too, but mostly does not, and a
// tensor that is kept for it is one more argument of what follows, with its memory.)
bool refers_weakly(PyObject* callable) {
  if (PyType_Check(callable)) return PyType_IsSubtype(as_type(callable), &_PyWeakref_RefType);
  PyObject* module = PyCFunction_Check(callable) ? as_builtin(callable)->m_module : nullptr;
  return module && PyUnicode_Check(module) && !PyUnicode_CompareWithASCIIString(module, "_weakref");
}

class BreakPlanner {
 public:
  BreakPlanner(Tracer& tracer, Frame& innermost, bool must_advance, Exit& exit, ValuePlanner& values)
      : tracer_(tracer), must_advance_(must_advance), exit_(exit), values_(values) {
    for (Frame* frame = &innermost; frame; frame = frame->caller) frames_.push_back(frame);
    std::reverse(frames_.begin(), frames_.end());
    for (Frame* frame : frames_) places_.push_back(original_position(*frame));
  }

  bool plan() {
    find_handled();
    PlanBreak& end = exit_.plan.end.emplace();
    exit_.resumed.clear();
    if (!share_builtins()) return refuse("a function finds its builtins elsewhere than its caller");
    Frame& frame = *frames_.back();
    const OriginalPosition& place = places_.back();
    if (place.in_prologue && !place.in_prologue_call) return refuse("the frame has not reached its code yet");
    const Instruction& now = frame.current();
    const bool runs = runs_anywhere(now.op) && frame_use_of_call(frame) == FrameUse::None;
    if (!runs && must_advance_) return refuse("the instruction cannot run outside of its frame");
    for (size_t i = 0; i < frames_.size(); ++i)
      end.frames.push_back(
          {Ref::borrow(as_object(places_[i].prepared->code())), frames_[i]->globals, frames_[i]->current().position});
    if (!runs) {
      end.next.emplace();
      return continuation({ResumePlace::Kind::Before, place.instruction}, frames_.size() - 1,
                          layout(place).before(place.instruction), static_cast<int32_t>(frame.stack_depth()),
                          *end.next);
    }
    for (int32_t i = 0; i < stack_inputs(now); ++i)  // a local that holds one of them stays alive
      if (PyObject* operand = frame.slots[frame.stack_top - 1 - i].get()) {
        values_.expect(operand);
        if (stack_inputs(now) > 2 && i + 2 >= stack_inputs(now) && refers_weakly(operand))
          values_.expect_weak_references();
      }
    if (!plan_ways(end, frame, place, now) || !plan_instruction(end, frame, place, now) || !plan_held(end, now))
      return false;
    std::set_difference(on_stacks_.begin(), on_stacks_.end(), in_variables_.begin(), in_variables_.end(),
                        std::back_inserter(end.only_on_stack));
    move_operands(end, frame, now);
    return true;
  }

 private:
  Tracer& tracer_;
  const bool must_advance_;
  Exit& exit_;
  ValuePlanner& values_;
  std::vector<Frame*> frames_;  // outermost first
  std::vector<OriginalPosition> places_;
  std::vector<PyObject*> handled_;  // by frame: the exception that it is handling (None: none)
  std::vector<Ref> keep_alive_;
  std::set<ValueId> on_stacks_, in_variables_;
  std::optional<size_t> handler_;  // the frame whose handler the exception enters that the instruction may raise

  bool refuse(const char* what) {
    values_.refuse(what);
    return false;
  }

  // Functions of the break have the builtins of the frame that makes them.
  bool share_builtins() {
    if (frames_.size() == 1) return true;
    for (Frame* frame : frames_) guard_builtins(tracer_, *frame);
    return std::ranges::all_of(frames_, [&](Frame* frame) { return frame->builtins == frames_[0]->builtins; });
  }

  static const StackLayout& layout(const OriginalPosition& place) { return place.prepared->stack_layout(); }

  PyObject* slot(const Frame& frame, size_t index) const {
    return frame.slots[frame.prepared->locals_count + index].get();
  }

  // The exception that a frame in a handler keeps on its stack: the one that its caller was handling. Null: it is in
  // none.
  PyObject* saved_exception(size_t i) const {
    const std::vector<SlotKind>& stack = layout(places_[i]).before(places_[i].instruction);
    const auto found = std::find(stack.begin(), stack.end(), SlotKind::PreviousException);
    return found == stack.end() ? nullptr : slot(*frames_[i], found - stack.begin());
  }

  void find_handled() {
    Ref now = Ref::steal(PyErr_GetHandledException());
    keep_alive_.push_back(now ? now : Ref::none());
    handled_.assign(frames_.size(), nullptr);
    PyObject* current = keep_alive_.back().get();
    for (size_t i = frames_.size(); i-- > 0;) {
      handled_[i] = current;
      if (PyObject* saved = saved_exception(i)) current = saved;
    }
  }

  bool plan_ways(PlanBreak& end, Frame& frame, const OriginalPosition& place, const Instruction& now) {
    const auto depth = static_cast<int32_t>(frame.stack_depth());
    const int32_t inputs = stack_inputs(now);
    auto way = [&](bool jump, int32_t target, std::optional<Continuation>& taken) {
      taken.emplace();
      std::vector<SlotKind> after = layout(place).after(place.instruction, jump);
      taken->kept = static_cast<uint32_t>(kept_operands(now, jump));
      const int32_t from = depth - inputs + static_cast<int32_t>(taken->kept);
      for (size_t i = from; i < after.size(); ++i)
        taken->results += after[i] != SlotKind::Null && after[i] != SlotKind::Method;
      return continuation({ResumePlace::Kind::Before, target}, frames_.size() - 1, after, from, *taken);
    };
    const int32_t next = place.instruction + 1;
    if (!ends_flow(now.op) && !way(false, next, end.next)) return false;
    if (is_jump(now.op) && !way(true, place.prepared->bytecode.instructions[place.instruction].target, end.jump))
      return false;
    return plan_raised(end);
  }

  // The innermost frame that has a handler for what the instruction raises.
  bool plan_raised(PlanBreak& end) {
    for (size_t i = frames_.size(); i-- > 0;) {
      const ExceptionRegion* region = places_[i].prepared->bytecode.region_at(places_[i].instruction);
      if (!region) continue;
      handler_ = i;
      end.raised.emplace();
      end.raised->traceback_entries = static_cast<uint32_t>(i);
      return continuation({ResumePlace::Kind::Before, region->target}, i, layout(places_[i]).before(region->target),
                          region->depth, *end.raised, region);
    }
    return true;
  }

  // An object that only the frames hold dies after the instruction, when an exception leaves them: a value of a stack
  // as it does, one of a variable with its traceback.
  bool plan_held(PlanBreak& end, const Instruction& now) {
    for (size_t i = 0; i < frames_.size(); ++i) {
      Frame& frame = *frames_[i];
      const auto locals = static_cast<size_t>(frame.prepared->locals_count);
      const size_t operands = i + 1 == frames_.size() ? static_cast<size_t>(stack_inputs(now)) : 0;
      for (size_t slot = 0; slot + operands < frame.stack_top; ++slot) {
        PyObject* object = held_by_slot(frame, slot);
        if (!object || !has_observable_end(object)) continue;
        const bool is_local = slot < locals;
        if (is_local && handler_ && i > *handler_) return refuse("a traceback keeps an object whose end can be seen");
        const ValueId value = values_.slot_value(frame, static_cast<int32_t>(slot));
        if (value == kNoValue) return false;
        end.held.push_back(value);
        (is_local ? in_variables_ : on_stacks_).insert(value);
      }
    }
    return true;
  }

  // An operand lies on the stack alone. A variable of the frame that it is raised from would close a circle with it,
  // and keep what ends with it.
  void move_operands(PlanBreak& end, const Frame& frame, const Instruction& now) {
    std::set<ValueId> needed;
    each_value_but_operands(end, [&](ValueId value) { needed.insert(value); });
    const bool raises = now.op == Op::RAISE_VARARGS || now.op == Op::RERAISE;
    const size_t count = end.operands.size();
    for (size_t i = 0; i < count; ++i) {
      const ValueId value = end.operands[i];
      if (value == kNoValue || needed.count(value)) continue;
      PyObject* object = frame.slots[frame.stack_top - count + i].get();
      if (raises || (object && (PyExceptionInstance_Check(object) || has_observable_end(object))))
        end.moved.push_back(value);
    }
  }

  // An object from before the call has other owners too, unless it was an argument of a resume function.
  PyObject* held_by_slot(const Frame& frame, size_t slot) const {
    PyObject* object = frame.slots[slot].get();
    const bool is_lazy = (slot < frame.lazy_locals.size() && frame.lazy_locals[slot].raw) || frame.lazy_local_in(slot);
    const Source* source = object && !is_lazy ? tracer_.world.source_of(object) : nullptr;
    if (is_lazy || source) {
      if (!frame.is_of_resume_function()) return nullptr;
      return source ? source->value.get() : object ? object : frame.lazy_locals[slot].raw;
    }
    const bool has_ended = object && is_traced_generator(object) && !frame_of_generator(object);  // or it runs
    return has_ended ? nullptr : object;
  }

  bool plan_instruction(PlanBreak& end, Frame& frame, const OriginalPosition& place, const Instruction& now) {
    end.instruction = now;
    if (operand(now.op) == Operand::Name)
      end.argument = Ref::borrow(PyTuple_GET_ITEM(frame.prepared->bytecode.names.get(), now.arg));
    end.keyword_names = frame.keyword_names;
    // super() asks the frame where it is called for what is given here, where the interpreter has not seen it before.
    if ((now.op == Op::LOAD_SUPER_ATTR || now.op == Op::LOAD_SUPER_METHOD) && frame.top(3).is(as_object(&PySuper_Type)))
      end.instruction.has_arguments = true;
    const std::vector<SlotKind>& stack = layout(place).before(place.instruction);
    const auto depth = static_cast<int32_t>(frame.stack_depth());
    for (int32_t index = depth - stack_inputs(now); index < depth; ++index) {
      // The call in a resume function's prologue has operands of its own, none of them the compiler's helpers.
      const SlotKind kind =
          place.in_prologue_call ? (index == depth - 3 ? SlotKind::Null : SlotKind::Value) : stack[index];
      if (now.op == Op::RERAISE && index + 1 < depth) continue;  // only the exception counts
      ValueId operand = kNoValue;
      if (kind == SlotKind::PreviousException || kind == SlotKind::RaisingInstruction) {
        operand = values_.constant(Py_None);
      } else if (kind != SlotKind::Null && kind != SlotKind::Method) {
        operand = place.in_prologue_call ? values_.slot_value(frame, frame.prepared->locals_count + index)
                                         : slot_value(frame, stack, index);
        if (operand == kNoValue) return false;
      }
      end.operands.push_back(operand);
    }
    if (sets_handled()) {
      end.handled = values_.value_of(handled_.back());
      return end.handled != kNoValue;
    }
    return true;
  }

  bool sets_handled() const {
    for (size_t i = 0; i < frames_.size(); ++i)
      if (saved_exception(i)) return true;
    return false;
  }

  // The value in a stack slot; of LOAD_METHOD's two the one callable that they make.
  ValueId slot_value(Frame& frame, const std::vector<SlotKind>& stack, int32_t index) {
    const int32_t locals = frame.prepared->locals_count;
    PyObject* method = stack[index] == SlotKind::MethodSelf ? slot(frame, method_of(stack, index)) : nullptr;
    if (method) return values_.bound_method(method, slot(frame, index));
    return values_.slot_value(frame, locals + index);
  }

  // Calling the resume functions of frames 0..last: each outer one calls the next. `stack` is the layout at the
  // innermost's place, of which the slots from `from` on are results of the instruction, or, with `region`, what a
  // handler finds.
  bool continuation(ResumePlace place, size_t last, const std::vector<SlotKind>& stack, int32_t from, Continuation& way,
                    const ExceptionRegion* region = nullptr) {
    std::vector<Argument> inner;  // arguments that the frame outside passes on
    const ResumeFunction* callee = nullptr;
    for (size_t i = last + 1; i-- > 0;) {
      const bool is_last = i == last;
      ResumePlace at = is_last ? place : ResumePlace{ResumePlace::Kind::InCall, places_[i].instruction};
      at.is_callee = i > 0;
      const std::vector<SlotKind>& slots = is_last ? stack : layout(places_[i]).before(places_[i].instruction);
      const ResumeFunction* resume = resume_at(i, at, callee);
      if (!resume) return refuse("a resume function cannot be made");
      std::vector<Argument> arguments;
      uint32_t result = 0;
      for (const ResumeParameter& parameter : resume->parameters) {
        Argument argument{Argument::Kind::Value};
        const bool is_new = is_last && parameter.kind == ResumeParameter::Kind::Stack && parameter.index >= from;
        if (is_new && !region) {
          argument = {Argument::Kind::Result, result++};
        } else if (is_new && slots[parameter.index] == SlotKind::RaisingInstruction) {
          argument = {Argument::Kind::Constant, 0, raising_instruction(*resume, places_[i].instruction)};
        } else if (is_new) {
          argument = {Argument::Kind::Exception};
        } else if (!plan_argument(i, parameter, slots, *resume, argument, inner)) {
          return false;
        }
        if (argument.kind == Argument::Kind::Value)
          (parameter.kind == ResumeParameter::Kind::Stack ? on_stacks_ : in_variables_).insert(argument.index);
        if (argument.kind == Argument::Kind::Value && !at.is_callee)
          note_if_open(i, parameter, *resume, static_cast<Py_ssize_t>(arguments.size()));
        // The exceptions that except* has matched are handled from then on.
        if (is_last && !region && parameter.kind == ResumeParameter::Kind::Handled &&
            frames_[i]->current().op == Op::CHECK_EG_MATCH)
          argument.kind = Argument::Kind::Match;
        arguments.push_back(std::move(argument));
      }
      callee = resume;
      if (i == 0) {
        way.function = new_function(i, *resume);
        way.arguments = std::move(arguments);
      } else {
        inner = {{Argument::Kind::Function, 0, nullptr, {}, new_function(i, *resume)},
                 {Argument::Kind::List, 0, nullptr, std::move(arguments)}};
      }
    }
    return true;
  }

  // A number that is dynamic here is dynamic there: the next capture need not specialize it first to find that out.
  void note_if_open(size_t i, const ResumeParameter& parameter, const ResumeFunction& resume, Py_ssize_t position) {
    const Frame& frame = *frames_[i];
    PyObject* object = parameter.kind == ResumeParameter::Kind::Local
                           ? frame.slots[places_[i].local(parameter.index)].get()
                       : parameter.kind == ResumeParameter::Kind::Stack ? slot(frame, parameter.index)
                                                                        : nullptr;
    const uint64_t open = object ? dynamic_dims(tracer_, object) : 0;
    if (!open) return;
    PyObject* name = PyTuple_GET_ITEM(resume.code->co_localsplusnames, position);
    exit_.open_arguments.push_back(
        {Ref::borrow(as_object(resume.code)), std::string("L['") + PyUnicode_AsUTF8(name) + "']", open});
  }

  bool plan_argument(size_t i, const ResumeParameter& parameter, const std::vector<SlotKind>& slots,
                     const ResumeFunction& resume, Argument& argument, const std::vector<Argument>& inner) {
    Frame& frame = *frames_[i];
    ValueId value = kNoValue;
    switch (parameter.kind) {
      case ResumeParameter::Kind::Local:
        value = values_.slot_value(frame, places_[i].local(parameter.index));
        break;
      case ResumeParameter::Kind::Stack:
        if (slots[parameter.index] == SlotKind::RaisingInstruction) {
          argument = {Argument::Kind::Constant, 0, raising_instruction(resume, raised_at(frame, i, parameter.index))};
          return true;
        }
        value = slot_value(frame, slots, parameter.index);
        break;
      case ResumeParameter::Kind::Handled:
        value = values_.value_of(handled_[i]);
        break;
      case ResumeParameter::Kind::Callee:
        argument = inner[0];
        return true;
      case ResumeParameter::Kind::Arguments:
        argument = inner[1];
        return true;
    }
    argument.index = value;
    return value != kNoValue;
  }

  PlanBreak::NewFunction new_function(size_t i, const ResumeFunction& resume) const {
    return {resume.name, Ref::borrow(as_object(resume.code)), frames_[i]->globals};
  }

  const ResumeFunction* resume_at(size_t i, ResumePlace place, const ResumeFunction* callee) {
    const OriginalPosition& at = places_[i];
    const ResumeFunction* resume =
        resume_function(*at.prepared, place, values_.passed_locals(*frames_[i], at, place), callee);
    clear_error();
    if (resume) exit_.resumed.push_back(Ref::borrow(as_object(resume->code)));
    return resume;
  }

  // Which instruction of the original a stack slot names: it holds an offset in the code that the frame runs.
  int32_t raised_at(const Frame& frame, size_t i, int32_t index) const {
    const long unit = PyLong_AsLong(slot(frame, index));
    const int32_t own = frame.prepared->bytecode.index_of_offset(static_cast<int32_t>(unit) * 2);
    if (!places_[i].resume) return own;
    return own >= places_[i].resume->prologue ? own - places_[i].resume->prologue
                                              : places_[i].resume->place.instruction;
  }

  // The same place in a resume function, as RERAISE wants it.
  static Ref raising_instruction(const ResumeFunction& resume, int32_t original) {
    const CodeInfo* own = prepare(resume.code);
    return Ref::made(PyLong_FromLong(own->bytecode.instructions[original + resume.prologue].offset / 2));
  }
};

constexpr const char* kUnrelatedStorages =
    "a tensor is written to whose memory another input shares, no view of the same tensor, or several of its elements";

// Objects that the program has released live until all effects are there.
void release_external(const Tracer& tracer, PlanBreak& end, ValuePlanner& values) {
  for (Source* source : tracer.ends.released) end.released.push_back(values.live(source));
}

// Plans by `attempt` until no new cycle among the objects is met, and no object that a local has to keep alive.
template <typename Attempt>
bool plan_with_cycles(ValuePlanner& values, Attempt attempt) {
  for (;;) {
    const bool planned = attempt();
    if (planned ? !values.found_left_out() : !values.found_cycle()) return planned;
    values.start_again();
  }
}

// A mode is entered where its context is made again.
void define_contexts(Tracer& tracer, ValuePlanner& values) {
  for (const TorchModes::OpenContext& open : tracer.modes.contexts())
    values.define(open.context.get(), open.enter, open.argument.get());
}

bool set_modes_again(Tracer& tracer, ValuePlanner& values) {
  for (const TorchModes::Change& change : tracer.modes.changes()) {
    const bool has_prefix = PyTuple_GET_SIZE(change.prefix.get()) == 1;
    const bool planned =
        has_prefix ? values.effect(change.setter, {PyTuple_GET_ITEM(change.prefix.get(), 0), change.now.get()})
                   : values.effect(change.setter, {change.now.get()});
    if (!planned) return false;
  }
  const int nesting = tracer.modes.autocast_nesting();
  for (int i = 0; i < std::abs(nesting); ++i)
    if (!values.effect(
            nesting > 0 ? "torch.autocast_increment_nesting"_imported : "torch.autocast_decrement_nesting"_imported,
            {}))
      return false;
  // Those that were active before the trace are not there while residual code runs.
  const auto& stack = tracer.function_modes.stack();
  if (stack.empty() && FunctionModesAside::current().empty()) return true;
  std::vector<PyObject*> modes;
  for (const Ref& mode : stack) modes.push_back(mode.get());
  return values.effect(FunctionModesAside::function_modes_again(), modes);
}

// A graph that runs below autograd makes no history of a tensor.
bool gives_histories(const Tracer& tracer) {
  return std::ranges::any_of(tracer.world.fakes(),
                             [&](PyObject* fake) { return has_history(fake) && tracer.storages.is_written(fake); });
}
constexpr const char* kGivesHistory = "a tensor from before the call is computed from one that requires a gradient";

// The graph puts back what it changed.
bool leave_modes_in_graph(Tracer& tracer) {
  if (tracer.limits.below_autograd) return true;  // there it changes none
  auto record = [&](PyObject* function, Ref arguments) {
    return tracer.graph.add_call(NodeKind::CallFunction, Ref::borrow(function), arguments.get(), nullptr, Py_None, true,
                                 nullptr) != kNoNode &&
           (tracer.graph.mark_last_as_mode(), true);
  };
  const int nesting = tracer.modes.autocast_nesting();
  for (int i = 0; i < std::abs(nesting); ++i)
    if (!record(nesting > 0 ? "torch.autocast_decrement_nesting"_imported : "torch.autocast_increment_nesting"_imported,
                Ref::made(PyTuple_New(0))))
      return false;
  for (const TorchModes::Change& change : tracer.modes.changes()) {
    Ref value = Ref::made(PyTuple_Pack(1, change.before.get()));
    if (!record(change.setter, Ref::steal(PySequence_Concat(change.prefix.get(), value.get())))) return false;
  }
  const auto& contexts = tracer.modes.contexts();
  for (auto open = contexts.rbegin(); open != contexts.rend(); ++open)
    if (open->is_in_graph && !record("torch.autograd.grad_mode._exit_inference_mode"_imported,
                                     Ref::made(PyTuple_Pack(1, open->context.get()))))
      return false;
  return true;
}

}  // namespace

bool plan_return(Tracer& tracer, PyObject* result, Exit& exit) {
  flush_operator_reports();
  if (tracer.is_over()) return false;
  ValuePlanner values(tracer, exit.plan, exit.outputs);
  values.write_now = [&](const ShadowContainer& shadow) { return plan_container(tracer, values, shadow); };
  values.plan_log_until = [&](size_t place) { return plan_log_until(tracer, values, place); };
  const bool planned = plan_with_cycles(values, [&] {
    values.draw_numbers();
    define_contexts(tracer, values);
    exit.plan.result = values.value_of(result);
    return exit.plan.result != kNoValue && values.fill_cycles() && plan_effects(tracer, values) &&
           values.fill_cycles() && values.set_states() && set_modes_again(tracer, values) &&
           values.generators_are_held();
  });
  if (!planned) return tracer.abort(BreakReason::UnsupportedResult, values.refusal()) != nullptr;
  if (tracer.limits.below_autograd && gives_histories(tracer))
    return tracer.abort(BreakReason::AutogradCall, kGivesHistory) != nullptr;
  if (!leave_modes_in_graph(tracer))
    return tracer.abort(BreakReason::OutsideContext, "a mode of torch cannot be left in the graph") != nullptr;
  values.finish_draws();
  tracer.graph.remove_dead_code(exit.outputs);
  return values.gather(exit.inputs) || tracer.abort(BreakReason::MemoryOverlap, kUnrelatedStorages) != nullptr;
}

bool plan_break(Tracer& tracer, Frame& innermost, bool must_advance, Exit& exit, std::string& refusal) {
  flush_operator_reports();
  if (tracer.is_over()) return false;
  ValuePlanner values(tracer, exit.plan, exit.outputs);
  values.write_now = [&](const ShadowContainer& shadow) { return plan_container(tracer, values, shadow); };
  values.plan_log_until = [&](size_t place) { return plan_log_until(tracer, values, place); };
  const bool planned = plan_with_cycles(values, [&] {
    values.draw_numbers();
    define_contexts(tracer, values);
    if (!BreakPlanner(tracer, innermost, must_advance, exit, values).plan()) return false;
    release_external(tracer, *exit.plan.end, values);
    return values.fill_cycles() && plan_effects(tracer, values) && values.fill_cycles() && values.set_states() &&
           set_modes_again(tracer, values) && values.watched_are_held() && values.generators_are_held();
  });
  if (!planned) {
    refusal = values.refusal();
    return false;
  }
  if (tracer.limits.below_autograd && gives_histories(tracer)) {
    refusal = kGivesHistory;
    return false;
  }
  if (!leave_modes_in_graph(tracer)) {
    clear_error();
    refusal = "a mode of torch cannot be left in the graph";
    return false;
  }
  values.finish_draws();
  tracer.graph.remove_dead_code(exit.outputs);
  if (values.gather(exit.inputs)) return true;
  refusal = kUnrelatedStorages;
  return false;
}

std::optional<long> wrong_assumption(const Tracer& tracer, const Exit& exit) {
  for (const Assumption& assumed : tracer.assumptions) {
    bool holds = true;
    switch (assumed.kind) {
      case Assumption::Kind::PureGraph:
        holds = changes_no_input(tracer);
        break;
      case Assumption::Kind::GraphComputes:
        holds = exit.plan.calls_graph || exit.plan.draws_numbers;
        break;
      case Assumption::Kind::StaysInside: {
        const NodeId node = tracer.graph.producer(assumed.object.get());
        holds = std::find(exit.outputs.begin(), exit.outputs.end(), node) == exit.outputs.end();
        break;
      }
      case Assumption::Kind::Private:
        holds = std::none_of(exit.outputs.begin(), exit.outputs.end(), [&](NodeId output) {
          PyObject* const example = tracer.graph.nodes()[static_cast<size_t>(output)].example.get();
          return is_fake(example) && storage_of_fake(example) == storage_of_fake(assumed.object.get());
        });
        [[fallthrough]];
      case Assumption::Kind::Unwritten:
        holds = holds && !tracer.storages.is_written(assumed.object.get());
        break;
      case Assumption::Kind::IsNoOrigin:
        holds = may_lose_leaf(tracer, exit.outputs, assumed.object.get());
        break;
    }
    if (!holds) return assumed.executed;
  }
  return runtime_value_in_graph(tracer);
}

}  // namespace minidynamo
