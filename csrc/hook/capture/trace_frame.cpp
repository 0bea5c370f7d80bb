#include "hook/capture/trace_frame.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "cache/code_cache.h"
#include "hook/intercept/hook_installed.h"
#include "hook/runtime.h"
#include "library/rules/rules.h"
#include "library/torch/break_errors.h"
#include "model/protocols/upward.h"
#include "python/error_text.h"
#include "python/process/collector.h"
#include "python/process/out_of_memory.h"
#include "tensor/process/function_mode_stack.h"
#include "world/external/enter.h"
#include "world/native/outer_handled_exception.h"
#include "world/proxies/dynamic_float.h"

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

// True if the graph leaves torch's generator of random numbers where the program does. False: given up.
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
  DestructionDeferred burials;
  CollectorPaused nobody_elses_finalizers;
  Ref handled = Ref::steal(PyErr_GetHandledException());
  HandledBefore outer_handled_exception(handled.get());
  ModeScope nothing_else(kCaptureNothing);
  TensorTraceScope tensors(tracer);
  const TraceSizesScope sizes;
  TracerActivation activation(tracer);
  HookInstalled hook;

  auto root = std::make_unique<Frame>(prepared, view.function, nullptr);
  root->is_root = true;
  for (int32_t i = 0; i < prepared->locals_count; ++i) root->lazy_locals.push_back({view.locals[i]});
  PyObject* globals = root->globals.get();
  Source* own_globals =
      tracer.guards.child(tracer.guards.function(view.function), Access::Attribute, "__globals__"_name, -1, globals);
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

// Going on behind the place makes sense: the reason lies there.
bool can_cut_before(BreakReason reason) noexcept {
  return extent_of(reason) != BreakExtent::Capture && extent_of(reason) != BreakExtent::Attempt;
}

bool is_transient(BreakReason reason) noexcept { return extent_of(reason) == BreakExtent::Attempt; }

// Why a trace is made again, and what that one has to know.
namespace retry {
struct FillCaches {
  std::vector<DeferredCall> calls;  // have to be made before
};
struct ExampleOfNumber {  // for a number that only the run knows: an example that agrees with the trace
  std::pair<size_t, int64_t> example;
};
struct ReadNumber {
  size_t number;  // is better read where the trace ends
};
struct ConstantRates {};              // numbers of an optimizer's groups have to be constants, though they change
struct BelowAutograd {                // a backward pass runs, of which every operator has to be recorded
  std::set<std::string> specialized;  // dynamic sizes that the trace had specialized until then
};
struct AssumeNothing {
  long from;  // an instruction, as Tracer::executed
};
struct MakeNoClass {
  long from;  // the same
};
}  // namespace retry
using Retry = std::variant<retry::FillCaches, retry::ExampleOfNumber, retry::ReadNumber, retry::ConstantRates,
                           retry::BelowAutograd, retry::AssumeNothing, retry::MakeNoClass>;

// A frame traced, or why another trace may do better; neither, if it cannot be captured.
struct TraceOutcome {
  std::unique_ptr<TracedFrame> traced = nullptr;
  std::optional<Retry> retry = std::nullopt;
};

std::set<std::string> specialized_numbers(const Tracer& tracer) {
  std::set<std::string> specialized;
  if (tracer.symbols.active())
    for (const OpenNumber& number : tracer.symbols.specialized())
      specialized.insert(number.source->to_text() + " " + std::to_string(number.dimension));
  return specialized;
}

// Traces the frame within limits, whole or up to the best place before the instruction that cannot be captured.
class LimitedTrace {
 public:
  LimitedTrace(const TraceLimits& limits, PyCodeObject* code, const FrameView& view, const TraceRequest& request,
               FrameBreak& why)
      : limits_(limits), code_(code), view_(view), request_(request), why_(why) {}

  TraceOutcome run() {
    if (std::optional<TraceOutcome> outcome = trace_whole()) return std::move(*outcome);
    if (!request_.may_break || request_.only_whole || why_.is_forbidden || !can_cut_before(why_.reason))
      return without_class();
    for (const BreakPoint& point : why_.points)
      if (std::optional<TraceOutcome> outcome = trace_until(point)) return std::move(*outcome);
    return without_class();
  }

 private:
  const TraceLimits& limits_;
  PyCodeObject* const code_;
  const FrameView& view_;
  const TraceRequest& request_;
  FrameBreak& why_;
  std::optional<long> class_made_at_;  // in a trace that was given up, as an instruction

  std::unique_ptr<TracedFrame> fresh() const {
    auto traced = std::make_unique<TracedFrame>();
    traced->tracer = std::make_unique<Tracer>(limits_, traced->guards, request_.open);
    traced->tracer->unbacked_numbers.limits = request_.unbacked_numbers;
    return traced;
  }

  // A class cannot be made again by residual code: the statement that defines it may have to run in Python.
  TraceOutcome without_class() const {
    const bool is_needed = request_.may_break || why_.reason == BreakReason::UnsupportedResult;
    if (!class_made_at_ || !is_needed || is_transient(why_.reason)) return {};
    return {nullptr, retry::MakeNoClass{*class_made_at_}};
  }

  bool makes_class(const Tracer& tracer) {
    if (tracer.classes.any()) class_made_at_ = tracer.classes.needed();
    return tracer.classes.any();
  }

  bool runs_no_backward(const Tracer& tracer) const { return limits_.below_autograd && !tracer.backward.passes; }

  static TraceOutcome checked(std::unique_ptr<TracedFrame> traced) {
    const std::optional<long> wrong = wrong_assumption(*traced->tracer, traced->exit);
    if (wrong) return {nullptr, retry::AssumeNothing{*wrong}};
    return {std::move(traced)};
  }

  static std::optional<Retry> for_unbacked_numbers(const UnbackedNumbers& numbers) {
    if (numbers.wanted_example) return retry::ExampleOfNumber{*numbers.wanted_example};
    if (numbers.better_refused) return retry::ReadNumber{*numbers.better_refused};
    return std::nullopt;
  }

  // Nothing: the trace was given up, and `why_` says why.
  std::optional<TraceOutcome> trace_whole() {
    std::unique_ptr<TracedFrame> traced = fresh();
    Tracer& tracer = *traced->tracer;
    tracer.breaks.are_allowed = request_.may_break;
    const BreakErrorsOfTrace said;
    const bool is_whole = attempt(*traced, code_, view_, request_.force_break_at, nullptr);
    if (!tracer.lru_caches_to_warm.empty() && !tracer.memory.failed())
      return TraceOutcome{nullptr, retry::FillCaches{std::move(tracer.lru_caches_to_warm)}};
    if (is_whole && runs_no_backward(tracer)) {  // something else has asked for it
      why_.reason = BreakReason::AutogradCall;
      why_.detail = "no backward pass runs";
      return TraceOutcome{};
    }
    if (is_whole) return checked(std::move(traced));
    if (std::optional<Retry> retry = for_unbacked_numbers(tracer.unbacked_numbers))
      return TraceOutcome{nullptr, std::move(retry)};
    if (tracer.backward.needs_below_autograd && request_.may_go_below_autograd)
      return TraceOutcome{nullptr, retry::BelowAutograd{specialized_numbers(tracer)}};
    // A step of an optimizer that is cut in two gains nothing by dynamic rates.
    if (std::ranges::any_of(limits_.dynamic_floats, is_of_groups) && can_cut_before(tracer.why().reason))
      return TraceOutcome{nullptr, retry::ConstantRates{}};
    why_.is_forbidden = breaks_are_errors();
    static_cast<Break&>(why_) = tracer.why();
    why_.has_unbacked_numbers = tracer.unbacked_numbers.any();
    makes_class(tracer);
    return std::nullopt;
  }

  // Nothing: it cannot be cut there.
  std::optional<TraceOutcome> trace_until(const BreakPoint& point) {
    std::unique_ptr<TracedFrame> traced = fresh();
    Tracer& tracer = *traced->tracer;
    const BreakErrorsOfTrace said;
    // The resume function may begin with the instruction itself, not with a call around it, which would lead to the
    // same break again.
    const bool is_the_place = why_.is_innermost && &point == &why_.points.front();
    BreakRequest at_point{point, !(is_the_place && extent_of(why_.reason) == BreakExtent::Cut), ""};
    if (attempt(*traced, code_, view_, 0, &at_point)) {
      if (runs_no_backward(tracer)) return without_class();  // there is no need of it so far
      return checked(std::move(traced));
    }
    if (std::optional<Retry> retry = for_unbacked_numbers(tracer.unbacked_numbers))
      return TraceOutcome{nullptr, std::move(retry)};
    if (makes_class(tracer) || (tracer.aborted() && tracer.why().reason == BreakReason::Internal))
      return without_class();
    if (tracer.aborted() && is_transient(tracer.why().reason)) {
      static_cast<Break&>(why_) = tracer.why();
      return TraceOutcome{};
    }
    if (why_.detail.find(at_point.refusal) == std::string::npos)
      why_.detail += "; it cannot be cut there: " + at_point.refusal;
    return std::nullopt;
  }
};

// Calls cached functions as the frame will: what they keep is there then, and the trace finds it. False: not all can be
// had.
bool warm_lru_caches(const std::vector<DeferredCall>& calls) {
  ModeScope nothing_else(kCaptureNothing);
  for (const DeferredCall& call : calls) {
    const Ref result = Ref::steal(PyObject_Call(call.callable.get(), call.positional.get(), call.keywords.get()));
    if (!result) return clear_error(), false;
  }
  return true;
}

// The loop of traces: each retry tightens a limit, or is of a kind that is counted, so that it ends.
class TraceAttempts {
 public:
  TraceAttempts(PyCodeObject* code, const FrameView& view, TraceRequest request, FrameBreak& why)
      : code_(code), view_(view), request_(std::move(request)), why_(why) {
    limits_.patience = request_.patience;
    limits_.look = request_.look;
    limits_.only_common_forms = request_.only_common_forms;
    limits_.keeps_recurrent_layers_out = request_.keeps_recurrent_layers_out;
    if (request_.only_common_forms) request_.may_go_below_autograd = false;
    limits_.dynamic_floats = std::move(request_.dynamic_floats);
    as_last_time_ = request_.specialized_before_backward.has_value();
    if (!as_last_time_) return;
    limits_.below_autograd = true;
    specialized_before_backward_ = std::move(*request_.specialized_before_backward);
  }

  std::unique_ptr<TracedFrame> run() {
    for (;;) {
      TraceOutcome outcome = LimitedTrace(limits_, code_, view_, request_, why_).run();
      if (outcome.retry) {
        std::visit([&](auto& retry) { take(retry); }, *outcome.retry);
        continue;
      }
      if (stays_below_autograd(outcome.traced.get())) {
        if (outcome.traced) outcome.traced->specialized_before_backward = std::move(specialized_before_backward_);
        return std::move(outcome.traced);
      }
    }
  }

 private:
  static constexpr int kMostFillings = 16;   // a result found in one cache may lead to the next cache
  static constexpr int kMostExamples = 100;  // examples of numbers that only the run knows

  PyCodeObject* const code_;
  const FrameView& view_;
  TraceRequest request_;
  FrameBreak& why_;
  TraceLimits limits_ = runtime().limits;
  int fillings_ = 0, examples_ = 0;
  bool as_last_time_ = false;  // the first trace begins below autograd, since the last capture ended there
  std::set<std::string> specialized_before_backward_;

  void take(retry::FillCaches& retry) {
    limits_.may_fill_caches = warm_lru_caches(retry.calls) && ++fillings_ < kMostFillings;
  }

  bool may_take_example() {
    if (++examples_ < kMostExamples) return true;
    request_.unbacked_numbers.scalars = request_.unbacked_numbers.sizes = false;
    return false;
  }

  void take(retry::ExampleOfNumber& retry) {
    if (may_take_example())
      request_.unbacked_numbers.examples.insert_or_assign(retry.example.first, retry.example.second);
  }

  void take(retry::ReadNumber& retry) {
    if (may_take_example()) request_.unbacked_numbers.refused.insert(retry.number);
  }

  void take(retry::ConstantRates&) { std::erase_if(limits_.dynamic_floats, is_of_groups); }

  void take(retry::BelowAutograd& retry) {
    limits_.below_autograd = true;
    request_.may_go_below_autograd = false;
    specialized_before_backward_ = std::move(retry.specialized);
  }

  void take(retry::AssumeNothing& retry) {
    limits_.assumptions_until = retry.from < limits_.assumptions_until ? retry.from : 0;
  }

  // One that is made all the same, though its statement was to be a break: none may be made from the beginning on.
  void take(retry::MakeNoClass& retry) { limits_.classes_until = retry.from < limits_.classes_until ? retry.from : 0; }

  // Operators are recorded below autograd for the sizes that they have. Where these are known to change, a graph that
  // is good for all of them is worth more than one for the whole frame.
  bool stays_below_autograd(const TracedFrame* traced) {
    if (!limits_.below_autograd) return true;
    const bool are_sizes_new =
        traced && request_.may_break &&
        !std::ranges::includes(specialized_before_backward_, specialized_numbers(*traced->tracer));
    const bool is_lost = !traced && !is_transient(why_.reason);
    if (!are_sizes_new && !is_lost) return true;
    limits_.below_autograd = false;
    if (std::exchange(as_last_time_, false)) return false;
    limits_.why_not_below_autograd =
        is_lost ? why_.detail : "sizes differ between calls, and a graph with a backward pass is for given ones";
    return false;
  }
};

}  // namespace

std::unique_ptr<TracedFrame> trace_frame(PyCodeObject* code, const FrameView& view, TraceRequest request,
                                         FrameBreak& why) {
  return TraceAttempts(code, view, std::move(request), why).run();
}

}  // namespace minidynamo
