#include "world/state/tracer.h"

#include <algorithm>

#include "python/error_set_aside.h"
#include "python/error_text.h"
#include "python/named_item.h"
#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"
#include "tensor/process/override_probe.h"
#include "world/external/known_types.h"
#include "world/native/code_origin.h"
#include "world/native/unheard_call.h"
#include "world/state/held_values.h"
#include "world/state/upward.h"
#include "world/torch/recorded_operator.h"

namespace minidynamo {
namespace {
int running_tracers = 0;  // changed under the GIL

// The user's stack as a traceback prints it, outermost first.
std::string stack_text(const Frame* innermost) {
  std::vector<const Frame*> frames;
  for (const Frame* frame = innermost; frame; frame = frame->caller) frames.push_back(frame);
  std::string text;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const char* file = PyUnicode_AsUTF8((*frame)->code()->co_filename);
    const char* name = PyUnicode_AsUTF8((*frame)->code()->co_name);
    text += std::string("  File \"") + (file ? file : "?") + "\", line " + std::to_string((*frame)->line()) + ", in " +
            (name ? name : "?") + "\n";
  }
  return text;
}

BreakReason reason_for(FakeProblem problem) noexcept {
  switch (problem) {
    case FakeProblem::Data:
      return BreakReason::DataDependent;
    case FakeProblem::NoImplementation:
      return BreakReason::NoFakeImplementation;
    case FakeProblem::Devices:
      return BreakReason::MixedDevices;
    case FakeProblem::Kind:
      return BreakReason::UnsupportedTensor;
    case FakeProblem::RealTensor:
      return BreakReason::UnknownTensor;
    case FakeProblem::Overlap:
      return BreakReason::MemoryOverlap;
  }
  return BreakReason::DataDependent;
}

// True for reasons that do not stop a trace below autograd: there the program's own code runs where autograd calls it.
bool may_go_below_autograd(BreakReason reason) noexcept {
  return reason == BreakReason::AutogradFunction || reason == BreakReason::Checkpoint ||
         reason == BreakReason::BodyEffect;
}

constexpr long kLookEvery = 4096;  // instructions

// True if the trace can end inside this frame: a break in it must not be moved out to the call that led here.
bool can_end_in(const Frame& frame, const TraceLimits& limits, KnownReaders& readers) {
  return frame.instruction >= frame.prepared->first_instruction() &&
         (limits.may_end_in_libraries || !is_library_code(frame.code())) && !cannot_be_split(frame, readers);
}

// The places to end a trace instead of giving it up in `innermost`.
std::vector<BreakPoint> break_points_from(BreakReason why, const Frame* innermost, const TraceLimits& limits,
                                          const Transforms& transforms, KnownReaders& readers, bool& is_innermost) {
  std::vector<BreakPoint> points;
  const Frame* outermost = innermost;
  while (outermost && outermost->caller) outermost = outermost->caller;
  if (!outermost || !outermost->is_root) return points;  // a generator that is closed after the frame has ended
  // The outermost frame that the trace cannot end in or below.
  const Frame* blocked = extent_of(why) == BreakExtent::Frame ? innermost : nullptr;
  for (const Frame* frame = innermost; frame; frame = frame->caller)
    if (!can_end_in(*frame, limits, readers) || (frame->caller && !frame->called_directly) ||
        transforms.was_inside(frame->started_at))
      blocked = frame;
  is_innermost = !blocked;
  for (const Frame* frame = blocked ? blocked->caller : innermost; frame; frame = frame->caller)
    points.push_back({frame->started_at, frame->code(), frame->instruction});
  return points;
}

// The program's own line: of the innermost frame that is neither the standard library's nor torch's.
const Frame* place_of_user(const Frame* innermost) {
  for (const Frame* frame = innermost; frame; frame = frame->caller)
    if (code_origin(frame->code()->co_filename) == CodeOrigin::User) return frame;
  return innermost;
}

std::string full_name(const Frame& frame) {
  PyObject* module = named_item(frame.globals.get(), "__name__");
  const char* prefix = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  const char* name = PyUnicode_AsUTF8(frame.code()->co_qualname);
  clear_error();
  return (prefix ? prefix + std::string(".") : "") + (name ? name : "?");
}

Break make_break(BreakReason why, std::string detail, const Frame* frame, const TraceLimits& limits,
                 const Transforms& transforms, KnownReaders& readers) {
  const Frame* place = place_of_user(frame);
  if (transforms.inside()) detail += " (within " + transforms.text(frame) + ")";
  if (place != frame) detail += ", in " + full_name(*frame);
  Break reason{why, std::move(detail), nullptr, 0, -1, -1, stack_text(frame), {}};
  reason.points = break_points_from(why, frame, limits, transforms, readers, reason.is_innermost);
  if (place) {
    const Position& at = place->current().position;
    reason.code_object = place->code_object;
    reason.line = at.line;
    reason.column = at.column;
    reason.end_column = at.end_line == at.line ? at.end_column : -1;
  }
  return reason;
}

}  // namespace

Tracer::Tracer(const TraceLimits& given, GuardTree& tree, const DynamicSizes* open)
    : guards(tree),
      limits(given),
      next_look(std::min(kLookEvery, given.instructions + 1)),
      symbols(
          graph, open, [this] { return origin(); }, [this] { return frame ? frame->call_site() : nullptr; }),
      transforms(given.below_autograd) {
  ++running_tracers;
  graph.below_autograd = given.below_autograd;
}
Tracer::~Tracer() {
  --running_tracers;
  if (own_memory_error_) is_raised_by_program(nullptr);
}

bool Tracer::any_running() noexcept { return running_tracers > 0; }

TracerActivation::TracerActivation(Tracer& tracer) noexcept : previous_(std::exchange(Tracer::current_, &tracer)) {}
TracerActivation::~TracerActivation() { Tracer::current_ = previous_; }

bool Tracer::keeps_going() noexcept {
  const auto abort = [this](BreakReason reason, const char* detail) noexcept {
    if (!try_to([&] { this->abort(reason, detail); })) run_out_of_memory();
  };
  next_look = std::min(executed + kLookEvery, std::max(executed, limits.instructions) + 1);
  if (limits.look) try_to([&] { limits.look(*this); });
  if (executed > limits.instructions) {
    abort(BreakReason::InstructionLimit, "the trace executed more instructions than config allows");
  } else if (interruption_waits()) {
    const auto now = std::chrono::steady_clock::now();
    if (waited_for_since_ == decltype(now){}) waited_for_since_ = now;
    if (now - waited_for_since_ >= limits.patience)
      abort(BreakReason::Interrupted, "a signal or an exception from another thread is to be handled first");
  }
  return !is_over();
}

bool Breaks::delay_forced(const Frame& at) noexcept {
  if (!at.is_root) return false;
  bool delay = at.instruction <= at.prepared->first_instruction() || at.instruction < at.prepared->prologue;
  if (!delay && at.prepared->prologue &&
      !has_left_prologue_) {  // a resume function gets on by one instruction at least
    has_left_prologue_ = true;
    delay = true;
  }
  if (delay) ++forced_at;
  return delay;
}

void Tracer::note_raise(Frame& at) {
  const ErrorSetAside error;
  breaks.raised_at = at.started_at;
  breaks.raised = make_break(BreakReason::Exception, "", &at, limits, transforms, breaks.readers);
}

void Tracer::abort_with_exception(std::string text) {
  if (is_over()) return;
  clear_error();
  breaks.raised.detail = "the call ends with " + std::move(text);
  aborted_ = std::move(breaks.raised);
}

std::nullptr_t Tracer::abort(BreakReason why, std::string detail) {
  if (!is_over()) {  // the first reason is the one that matters
    clear_error();
    aborted_ = make_break(why, std::move(detail), frame, limits, transforms, breaks.readers);
    backward.needs_below_autograd |= !limits.below_autograd && may_go_below_autograd(why);
  }
  // Whatever C code lies between sees an error and returns; nothing looks at what it is.
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "minidynamo: the trace was given up");
  return nullptr;
}

void Tracer::note_own_memory_error() noexcept {
  own_memory_error_ = Ref::borrow(current_error());
  is_raised_by_program(own_memory_error_.get());
}

void Tracer::run_out_of_memory() noexcept {
  if (aborted_ && aborted_->reason == BreakReason::OutOfMemory) return;
  aborted_ = Break{BreakReason::OutOfMemory, "", nullptr, 0, -1, -1, "", {}};
  if (!PyErr_Occurred()) PyErr_NoMemory();
}

void Tracer::end_at_break(Frame& innermost) {
  if (innermost.code() == breaks.point.code && innermost.instruction == breaks.point.instruction) {
    breaks.on_break(innermost);
    stopped_ = true;
  } else {
    abort(BreakReason::Internal, "a second trace took another way than the first");
  }
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "minidynamo: the trace ended here");
}

GuardOrigin Tracer::origin() const noexcept {
  return frame ? GuardOrigin{frame->code(), frame->line()} : GuardOrigin{};
}

bool Tracer::operator_ran(PyObject* target, PyObject* args, PyObject* kwargs, PyObject* result) noexcept {
  if (is_over()) return false;
  NodeId node = kNoNode;
  const bool had_memory = try_to([&] {
    if (ModeBypass::is_open()) {
      const FunctionOverrides overrides = function_overrides();
      const auto is_of_own_class = [](PyObject* held) {
        return is_fake(held) && !is_plain_tensor_class(Py_TYPE(held));
      };
      if (function_modes.any() && overrides != FunctionOverrides::None) {
        abort(BreakReason::ActiveMode, "native code runs an operator that a TorchFunctionMode is to hear of");
        return;
      }
      if (overrides == FunctionOverrides::All && any_held(args, is_of_own_class)) {
        abort(BreakReason::UnsupportedOperand, "native code runs an operator that a class of tensors is to hear of");
        return;
      }
    }
    // One with a backward of its own comes here without a grad mode, from within that: the graph would lose its
    // gradient, if it is to have one.
    Ref owner;
    if (transforms.inside() && !limits.below_autograd && !operators_grad_mode_) {
      const NativeScope native;
      owner = Ref::steal(PyObject_GetAttrString(target, "namespace"));
      clear_error();
    }
    if (owner && PyUnicode_CompareWithASCIIString(owner.get(), "aten") != 0) {
      abort(BreakReason::AutogradCall, "an operator that is not torch's own runs within a transform");
      return;
    }
    if (transforms.records_operators() && !transforms.use_grad_mode(*this, operators_grad_mode_)) return;
    if (random.repeats(target, args, kwargs)) {
      consume_side_effect_flag();
      node = random.repeat(*this, target, args, result);
      return;
    }
    if (limits.below_autograd && fills_last(graph, target, args, kwargs)) {
      consume_side_effect_flag();
      node = static_cast<NodeId>(graph.nodes().size() - 1);
      random.note(*this, target, args, kwargs, result);
      return;
    }
    RecordedOperator recorded = limits.below_autograd ? recorded_operator(target, args)
                                                      : RecordedOperator{Ref::borrow(target), Ref::borrow(args)};
    if (transforms.records_operators())
      recorded.arguments = Transforms::with_constants(*this, recorded.arguments.get());
    if (recorded.arguments)
      node = graph.add_call(NodeKind::CallFunction, std::move(recorded.target), recorded.arguments.get(), kwargs,
                            result, consume_side_effect_flag(), frame ? frame->call_site() : nullptr);
    if (node != kNoNode) random.note(*this, target, args, kwargs, result);
    if (node == kNoNode) {
      const std::string why = take_error_text();
      abort(BreakReason::GraphArgument, "an operator's argument cannot stand in a graph: " + why);
    }
  });
  if (!had_memory) run_out_of_memory();
  return had_memory && node != kNoNode;
}

bool Tracer::operator_writes(const void* storage, bool is_differentiated) noexcept {
  bool goes_on = true;
  const bool had_memory = try_to([&] {
    storages.note_written(storage, graph.nodes().size());
    goes_on = !is_differentiated || views_from_before.note_differentiated(storage);
    if (!goes_on) abort(BreakReason::HistoryOfViews, "autograd records a write to a view of an input's memory");
  });
  if (!had_memory) run_out_of_memory();
  return goes_on && had_memory;
}

std::optional<Expression> Tracer::unknown_size(SizeRange range, PyObject* elements_of, uint32_t version) noexcept {
  std::optional<Expression> size;
  if (!try_to([&] { size = unbacked_numbers.make_size(range, elements_of, version); })) run_out_of_memory();
  return size;
}

PyObject* Tracer::fake_for_real(PyObject* real) noexcept {
  PyObject* found = nullptr;
  const bool had_memory = try_to([&] {
    found = world.replacement_of(real);
    if (!found && tensors_of_opaque_call) {
      Ref& fake = (*tensors_of_opaque_call)[Ref::borrow(real)];
      if (!fake) fake = make_fake(real);
      found = fake.get();
    } else if (!found) {
      abort(BreakReason::UnknownTensor, "an operation uses a tensor that was reached in a way the trace cannot see");
    }
  });
  if (!had_memory) run_out_of_memory();
  return found;
}

void Tracer::cannot_fake(const std::string& operator_name, FakeProblem problem, const std::string& reason) noexcept {
  if (!try_to([&] { abort(reason_for(problem), operator_name + ": " + reason); })) run_out_of_memory();
}

const CodeInfo* prepare(Tracer& tracer, PyCodeObject* code) {
  const CodeInfo* prepared = prepare(code);
  if (prepared) return prepared;
  clear_error();
  return tracer.abort(BreakReason::Internal, "a code object cannot be decoded");
}

}  // namespace minidynamo
