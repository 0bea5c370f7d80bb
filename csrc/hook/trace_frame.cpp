#include "hook/trace_frame.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "cache/code_cache.h"
#include "hook/hook_installed.h"
#include "hook/runtime.h"
#include "library/break_errors.h"
#include "library/rules.h"
#include "model/upward.h"
#include "python/collector.h"
#include "python/error_text.h"
#include "python/out_of_memory.h"
#include "tensor/function_mode_stack.h"
#include "world/changing_number.h"
#include "world/enter.h"
#include "world/handled_before.h"

namespace minidynamo {
namespace {

// A break that is to be made at `point`.
struct BreakRequest {
  BreakPoint point;
  bool must_advance;
  std::string refusal;
};

// The innermost of the program's modes that `index` are below, if nothing has changed since the guards were made.
PyObject* function_mode_by_index(PyObject* index, PyObject*) {
  const size_t at = PyLong_AsSize_t(index);
  return Ref::borrow(at < function_mode_count() ? function_mode_at(at) : Py_None).release();
}

// The modes that were active before the trace are objects like those that a frame is given. False: given up.
bool enter_function_modes(Tracer& tracer) {
  static PyMethodDef definition = {"function_mode", entry<function_mode_by_index>, METH_NOARGS, nullptr};
  size_t index = device_mode_count();
  for (const Ref& mode : FunctionModesAside::current()) {
    const Ref position = Ref::made(PyLong_FromSize_t(index));
    const Ref asked = Ref::made(PyCFunction_New(&definition, position.get()));
    Source* source = tracer.guards.kept(asked.get(), "torch function mode " + std::to_string(index));
    Ref entered = load_part(tracer, source, Access::CallResult, nullptr, mode.get());
    if (!entered) return clear_error(), false;
    tracer.function_modes.push(std::move(entered));
    ++index;
  }
  return true;
}

// Whether the graph leaves torch's generator of random numbers where the program does. False: given up.
bool leaves_generator(Tracer& tracer) {
  return tracer.random.is_at_end() ||
         tracer.abort(BreakReason::RandomSeed, "the generator of random numbers is left in an earlier state");
}

// Traces the frame. True if `exit` is planned; otherwise the tracer is given up, or `request` refused.
bool attempt_once(TracedFrame& traced, PyCodeObject* code, const FrameView& view, long force_break_at,
                  BreakRequest* request) {
  const CodeInfo* prepared = prepare(*traced.tracer, code);
  if (!prepared) return clear_error(), false;
  load_rules();
  Tracer& tracer = *traced.tracer;
  BurialPaused burials;
  CollectorPaused nobody_elses_finalizers;
  Ref handled = Ref::steal(PyErr_GetHandledException());
  HandledBefore handled_before(handled.get());
  ModeScope nothing_else(kCaptureNothing);
  TensorTraceScope tensors(tracer);
  const TraceSizesScope sizes;
  TracerActivation activation(tracer);
  HookInstalled hook;

  auto root = std::make_unique<Frame>(prepared, view.function, nullptr);
  root->is_root = true;
  for (int32_t i = 0; i < prepared->locals_count; ++i) root->lazy_locals.push_back({view.locals[i]});
  static PyObject* const globals_name = interned("__globals__");
  PyObject* globals = root->globals.get();
  Source* own_globals =
      tracer.guards.child(tracer.guards.function(view.function), Access::Attribute, globals_name, -1, globals);
  tracer.guards.add(own_globals, GuardKind::Names, GuardOrigin{code, code->co_firstlineno});
  tracer.world.know_namespace(globals, own_globals);

  bool planned = false;
  if (!enter_function_modes(tracer)) return false;
  if (tracer.memory.failed()) throw_out_of_memory();
  tracer.breaks.forced_at = force_break_at;
  if (request) {
    tracer.breaks.point = request->point;
    tracer.breaks.on_break = [&](Frame& innermost) {
      if (!leaves_generator(tracer)) return;
      planned = plan_break(tracer, innermost, request->must_advance, traced.exit, request->refusal);
    };
  }
  Ref result = evaluate(tracer, std::move(root));
  if (!tracer.is_over() && leaves_generator(tracer)) {
    if (result)
      planned = plan_return(tracer, result.get(), traced.exit);
    else
      tracer.abort_with_exception(take_error_text());
  }
  result.reset();
  clear_error();
  {
    NativeScope native;
    tracer.modes.close();
  }
  PyErr_SetHandledException(handled.get());
  tracer.classes.forget_in_bases();
  return planned && !tracer.aborted();
}

// The same, where memory may end at any moment.
bool attempt(TracedFrame& traced, PyCodeObject* code, const FrameView& view, long force_break_at,
             BreakRequest* request) {
  bool planned = false;
  try_to([&] { planned = attempt_once(traced, code, view, force_break_at, request); });
  if (!traced.tracer->memory.failed()) return planned;
  traced.tracer->run_out_of_memory();
  PyErr_Clear();
  return false;
}

// Whether going on behind the place makes sense: the reason lies there, not in the pipeline.
bool is_about_a_place(BreakReason reason) noexcept {
  switch (reason) {
    case BreakReason::Internal:
    case BreakReason::Interrupted:
    case BreakReason::OutOfMemory:
    case BreakReason::GuardsFail:
    case BreakReason::GraphExport:
    case BreakReason::Codegen:
    case BreakReason::BackendFailed:
    case BreakReason::Generator:
      return false;
    default:
      return true;
  }
}

// Whether the next trace of the same may do.
bool is_passing(BreakReason reason) noexcept {
  return reason == BreakReason::Interrupted || reason == BreakReason::OutOfMemory;
}

// Whether cutting the code in two is an advance already.
bool is_about_length(BreakReason reason) noexcept {
  return reason == BreakReason::Forced || reason == BreakReason::InstructionLimit || reason == BreakReason::NodeLimit;
}

// Why a trace came to nothing that tighter limits may help, as instructions, counted as Tracer::executed.
struct Regrets {
  std::optional<long> class_made_at;  // from there on, no class may be made
  std::optional<long> assumed_at;     // from there on, nothing may be assumed
  std::vector<DeferredCall> to_fill;  // calls that have to be made before
  bool needs_numbers = false;         // numbers that change have to be constants all the same
  bool needs_below_autograd = false;  // a backward pass runs, of which every operator has to be recorded
  std::set<std::string> settled;      // numbers that were left open, which the trace had to take as they are
  // Of numbers that only the run knows: an example that agrees with the trace, one that is better read where the trace
  // ends.
  std::optional<std::pair<size_t, int64_t>> example;
  std::optional<size_t> better_refused;

  bool note_unknown_numbers(const UnknownNumbers& numbers) {
    example = numbers.wanted_example;
    better_refused = numbers.better_refused;
    return example || better_refused;
  }
};

std::set<std::string> settled_numbers(const Tracer& tracer) {
  std::set<std::string> settled;
  if (tracer.symbols.active())
    for (const OpenNumber& number : tracer.symbols.settled())
      settled.insert(number.source->to_text() + " " + std::to_string(number.dimension));
  return settled;
}

// Traces the frame within limits; where a trace is given up, up to the best place before that. Null: neither can be.
std::unique_ptr<TracedFrame> trace_within(const TraceLimits& limits, PyCodeObject* code, const FrameView& view,
                                          TraceRequest request, FrameBreak& why, Regrets& regrets) {
  auto fresh = [&] {
    auto traced = std::make_unique<TracedFrame>();
    traced->tracer = std::make_unique<Tracer>(limits, traced->guards, request.open);
    traced->tracer->unknown_numbers.limits = request.unknown_numbers;
    return traced;
  };
  auto note_classes = [&](const TracedFrame& traced) {
    if (traced.tracer->classes.any()) regrets.class_made_at = traced.tracer->classes.needed();
    return traced.tracer->classes.any();
  };
  auto assumed_wrongly = [&](const TracedFrame& traced) {
    regrets.assumed_at = wrong_assumption(*traced.tracer, traced.exit);
    return regrets.assumed_at.has_value();
  };
  auto first = fresh();
  first->tracer->breaks.are_allowed = request.may_break;
  {
    const BreakErrorsOfTrace said;
    const bool is_whole = attempt(*first, code, view, request.force_break_at, nullptr);
    if (!first->tracer->to_fill.empty() && !first->tracer->memory.failed()) {
      regrets.to_fill = std::move(first->tracer->to_fill);
      return nullptr;
    }
    if (is_whole && limits.below_autograd && !first->tracer->backward.passes) {  // something else has asked for it
      why.reason = BreakReason::AutogradCall;
      why.detail = "no backward pass runs";
      return nullptr;
    }
    if (is_whole) return assumed_wrongly(*first) ? nullptr : std::move(first);
    if (regrets.note_unknown_numbers(first->tracer->unknown_numbers)) return nullptr;
    regrets.needs_below_autograd = first->tracer->backward.needs_below_autograd && request.may_go_below_autograd;
    if (regrets.needs_below_autograd) regrets.settled = settled_numbers(*first->tracer);
    if (regrets.needs_below_autograd) return nullptr;
    // Of an optimizer: a step that is cut in two gains nothing by it.
    regrets.needs_numbers =
        std::ranges::any_of(limits.changing_numbers, is_of_groups) && is_about_a_place(first->tracer->why().reason);
    if (regrets.needs_numbers) return nullptr;
    why.is_forbidden = breaks_are_errors();
  }
  static_cast<Break&>(why) = first->tracer->why();
  why.has_unknown_numbers = first->tracer->unknown_numbers.any();
  note_classes(*first);
  first.reset();
  if (!request.may_break || why.is_forbidden || !is_about_a_place(why.reason)) return nullptr;
  for (const BreakPoint& point : why.points) {
    auto next = fresh();
    const BreakErrorsOfTrace said;
    // Where cutting is the point, and what was deleted is gone, the resume function may begin with the instruction; not
    // with a call around it, which would lead there again.
    const bool is_the_place = why.is_innermost && &point == &why.points.front();
    const bool may_stand_still = is_about_length(why.reason) || why.reason == BreakReason::Finalizer;
    BreakRequest at_point{point, !(may_stand_still && is_the_place), ""};
    if (attempt(*next, code, view, 0, &at_point)) {
      if (limits.below_autograd && !next->tracer->backward.passes) return nullptr;  // there is no need of it so far
      return assumed_wrongly(*next) ? nullptr : std::move(next);
    }
    if (regrets.note_unknown_numbers(next->tracer->unknown_numbers) || note_classes(*next)) return nullptr;
    if (next->tracer->aborted() && next->tracer->why().reason == BreakReason::Internal) break;
    if (next->tracer->aborted() && is_passing(next->tracer->why().reason)) {
      static_cast<Break&>(why) = next->tracer->why();
      return nullptr;
    }
    if (why.detail.find(at_point.refusal) == std::string::npos)
      why.detail += "; it cannot be cut there: " + at_point.refusal;
  }
  return nullptr;
}

// Calls cached functions as the frame will: what they keep is there then, and the trace finds it. False: not all can be
// had.
bool fill_caches(const std::vector<DeferredCall>& calls) {
  ModeScope nothing_else(kCaptureNothing);
  for (const DeferredCall& call : calls) {
    const Ref result = Ref::steal(PyObject_Call(call.callable.get(), call.positional.get(), call.keywords.get()));
    if (!result) return clear_error(), false;
  }
  return true;
}

}  // namespace

std::unique_ptr<TracedFrame> trace_frame(PyCodeObject* code, const FrameView& view, TraceRequest request,
                                         FrameBreak& why) {
  TraceLimits limits = runtime().limits;
  limits.patience = request.patience;
  limits.look = request.look;
  limits.only_common_forms = request.only_common_forms;
  limits.keeps_recurrent_layers_out = request.keeps_recurrent_layers_out;
  if (request.only_common_forms) request.may_go_below_autograd = false;
  limits.changing_numbers = std::move(request.changing_numbers);
  int fillings = 16;   // what is found in one cache may lead to the next
  int examples = 100;  // of numbers that only the run knows
  std::set<std::string> settled_before_backward;
  bool as_last_time = request.settled_before_backward.has_value();
  if (as_last_time) {
    limits.below_autograd = true;
    settled_before_backward = std::move(*request.settled_before_backward);
  }
  for (;;) {
    Regrets regrets;
    auto traced = trace_within(limits, code, view, request, why, regrets);
    if (!regrets.to_fill.empty()) {
      limits.may_fill_caches = fill_caches(regrets.to_fill) && --fillings > 0;
      continue;
    }
    if (regrets.example || regrets.better_refused) {
      UnknownNumberLimits& unknown = request.unknown_numbers;
      if (--examples <= 0)
        unknown.scalars = unknown.sizes = false;
      else if (regrets.example)
        unknown.examples.insert_or_assign(regrets.example->first, regrets.example->second);
      else
        unknown.refused.insert(*regrets.better_refused);
      continue;
    }
    if (regrets.needs_numbers) {
      std::erase_if(limits.changing_numbers, is_of_groups);
      continue;
    }
    if (regrets.needs_below_autograd) {
      limits.below_autograd = true;
      request.may_go_below_autograd = false;
      settled_before_backward = std::move(regrets.settled);
      continue;
    }
    // Operators are recorded there for the sizes that they have. Where these are known to change, a graph that is good
    // for all of them is worth more than one for the whole frame.
    if (limits.below_autograd && traced && request.may_break &&
        !std::ranges::includes(settled_before_backward, settled_numbers(*traced->tracer))) {
      limits.below_autograd = false;
      if (std::exchange(as_last_time, false)) continue;
      limits.why_not_below_autograd = "sizes differ between calls, and a graph with a backward pass is for given ones";
      continue;
    }
    if (regrets.assumed_at) {
      limits.assumptions_until = *regrets.assumed_at < limits.assumptions_until ? *regrets.assumed_at : 0;
      continue;
    }
    if (limits.below_autograd && !traced && !is_passing(why.reason) && !regrets.class_made_at) {
      limits.below_autograd = false;
      if (std::exchange(as_last_time, false)) continue;
      limits.why_not_below_autograd = why.detail;
      continue;
    }
    if (traced || is_passing(why.reason) || !regrets.class_made_at ||
        (!request.may_break && why.reason != BreakReason::UnsupportedResult)) {
      if (traced) traced->settled_before_backward = std::move(settled_before_backward);
      return traced;
    }
    // A class cannot be made again by residual code: the statement that defines it has to run in Python.
    // One that is made all the same, though its statement was to be a break: none may be made from the beginning on.
    limits.classes_until = *regrets.class_made_at < limits.classes_until ? *regrets.class_made_at : 0;
  }
}

}  // namespace minidynamo
