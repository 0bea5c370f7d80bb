#include "hook/capture/capture.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "bytecode/op_facts.h"
#include "emit/plan.h"
#include "emit/resume.h"
#include "hook/capture/capture_history.h"
#include "hook/capture/dynamic_numbers.h"
#include "hook/capture/graph_pieces.h"
#include "hook/capture/phases.h"
#include "hook/capture/progress.h"
#include "hook/capture/report.h"
#include "hook/capture/trace_frame.h"
#include "hook/capture/turn.h"
#include "hook/capture/wanted_guards.h"
#include "hook/config_id.h"
#include "hook/intercept/fx_tracers.h"
#include "hook/intercept/policy.h"
#include "hook/run/compiled_function.h"
#include "hook/run/counting_callable.h"
#include "hook/run/drawing_callable.h"
#include "hook/run/timed_call.h"
#include "hook/settings.h"
#include "library/rules/rules.h"
#include "model/protocols/upward.h"
#include "model/tensors/tensor_call.h"
#include "plan/exit.h"
#include "python/cached.h"
#include "python/error_set_aside.h"
#include "python/error_text.h"
#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"
#include "python/process/thread_switches.h"
#include "tensor/autograd/below_autograd.h"
#include "tensor/process/function_mode_stack.h"
#include "tensor/process/override_probe.h"
#include "tensor/process/thread_modes.h"
#include "world/external/known_types.h"
#include "world/torch/rerunnable_graph.h"

namespace minidynamo {
namespace {

// A number for a code object that is the same in every process, and another one for every seed.
unsigned long stable_hash(PyCodeObject* code, unsigned long seed) noexcept {
  unsigned long hash = 14695981039346656037UL ^ seed;  // FNV-1a
  const char* name = PyUnicode_AsUTF8(code->co_qualname);
  for (const char* c = name ? name : ""; *c; ++c) hash = (hash ^ static_cast<unsigned char>(*c)) * 1099511628211UL;
  return (hash ^ static_cast<unsigned long>(code->co_firstlineno)) * 1099511628211UL >> 16;
}

// Testing: the instruction before which to break; 0: none. Resume functions are left alone, so that one break is one
// break, but under stress.
long force_break_at(PyCodeObject* code, PyObject* config) {
  const Stress& stress = runtime().stress;
  if (stress.break_every) return 1 + static_cast<long>(stable_hash(code, stress.seed) % stress.break_every);
  const Ref at = setting(config, "force_break_at");
  const long number = at && PyLong_Check(at.get()) ? PyLong_AsLong(at.get()) : 0;
  clear_error();
  return find_resume_function(code) ? 0 : number;
}

// The real tensors that the graph is to be compiled for.
Ref example_inputs(const Exit& exit) {
  Ref inputs = Ref::made(PyList_New(0));
  for (Source* source : exit.inputs)
    if (PyList_Append(inputs.get(), source->value.get()) < 0) return nullptr;
  return inputs;
}

// Calls the backend, one thread at a time: backends change state of the whole process. Null: the frame runs uncaptured,
// or a Python error is set.
Ref compile(PyObject* config, PyObject* graph_module, PyObject* inputs, const std::string& name) {
  // A held-back interruption is the program's error, not the backend's; and a backend may take minutes.
  if (!deliver_interruptions()) return nullptr;
  InterruptionsLetIn all;
  ModeScope nothing_else(kCaptureNothing);
  BackendTurn turn;
  const Turn taken = turn.take(capture_deadline(config));
  // Under fullgraph the frame may not run uncaptured.
  if (taken == Turn::Error || (taken == Turn::Never && !asks_for_fullgraph(config))) return nullptr;
  return Ref::steal(PyObject_CallMethod(config, "compile_graph", "OOs", graph_module, inputs, name.c_str()));
}

// Traces the frame. A trace that something has waited for too long makes way for it, and is made again, with more
// patience: a timer that interrupts ever again must not keep the frame from being captured. Null: the frame has to run
// as it was, or a Python error is set.
std::unique_ptr<TracedFrame> trace(PyCodeObject* code, const FrameView& view, TraceRequest request, FrameBreak& why) {
  for (;; request.patience *= 2) {
    std::unique_ptr<TracedFrame> traced = trace_frame(code, view, request, why);
    if (traced || why.reason != BreakReason::Interrupted || !deliver_interruptions()) return traced;
  }
}

// By instruction, true for those that can come after one: for itself too, if it is in a loop.
std::vector<bool> those_after(const Bytecode& bytecode, int32_t first) {
  std::vector<bool> reached(bytecode.instructions.size());
  std::vector<int32_t> open = {first};
  auto go_on_at = [&](int32_t index) {
    if (index < 0 || static_cast<size_t>(index) >= reached.size() || reached[index]) return;
    reached[index] = true;
    open.push_back(index);
  };
  while (!open.empty()) {
    const int32_t index = open.back();
    open.pop_back();
    const Instruction& now = bytecode.instructions[index];
    if (!ends_flow(now.op)) go_on_at(index + 1);
    if (is_jump(now.op)) go_on_at(now.target);
    if (const ExceptionRegion* region = bytecode.region_at(index)) go_on_at(region->target);
  }
  return reached;
}

// An argument that no instruction lets go of lives as long as the frame. A resume function has all instructions of the
// original, of which those before its entry are never run.
std::vector<bool> rebound_parameters(PyCodeObject* code) {
  std::vector<bool> rebound(code->co_argcount);
  const Bytecode& bytecode = prepare(code)->bytecode;
  const std::vector<bool> reached = those_after(bytecode, 0);
  for (size_t i = 0; i < reached.size(); ++i) {
    const Instruction& now = bytecode.instructions[i];
    if (reached[i] && (now.op == Op::STORE_FAST || now.op == Op::DELETE_FAST) && now.arg < code->co_argcount)
      rebound[now.arg] = true;
  }
  return rebound;
}

// A loop in which a trace has reached its limit would reach it again and again: the rest of it runs uncaptured, but for
// functions that it calls.
void leave_loops_uncaptured(PyCodeObject* code, PyObject* config, const Break& why, const std::vector<Ref>& resumed) {
  if (why.reason != BreakReason::NodeLimit && why.reason != BreakReason::InstructionLimit) return;
  bool any = false;
  for (const Ref& known : resumed) {
    const ResumeFunction* resume = find_resume_function(as_code(known.get()));
    const Ref original = resume ? original_of(*resume) : Ref();
    const CodeInfo* prepared = original ? prepare(as_code(original.get())) : nullptr;
    clear_error();
    if (!prepared || !those_after(prepared->bytecode, resume->place.instruction)[resume->place.instruction]) continue;
    CodeCache* cache = CodeCache::get(as_code(known.get()));
    if (!cache) return clear_error();
    cache->skip({config_id(config), row_of(why.reason).code, why.detail, why.line});
    any = true;
  }
  if (any) report_loop(code, config, why);
}

// True if a backend that could not take a graph has set the current Python error, which stays set.
bool is_refused_by_backend() {
  const ErrorSetAside error;  // importing clears what is set
  return error.type() &&
         PyErr_GivenExceptionMatches(error.type(), "minidynamo.exceptions.BackendCompilerFailed"_imported);
}

// True if the graph has parts that other front ends leave out of graphs.
bool has_form_of_its_own(const Tracer& tracer) {
  return tracer.limits.below_autograd || std::ranges::any_of(tracer.graph.nodes(), [](const Node& node) {
           return node.used && is_step_of_fused_optimizer(node.target.get());
         });
}

Node call_of_constant(PyObject* function, PyObject* constant) {
  Node node{NodeKind::CallFunction, Ref::borrow(function), {}, {}, Ref::none()};
  node.args.push_back({Argument::Kind::Constant, kNoNode, Ref::borrow(constant), {}});
  return node;
}

// Why the pipeline begins anew. What it has learnt is kept in the function's cache, where the next attempt finds it. No
// reason comes twice, so that attempts end.
enum class RetryReason : uint8_t {
  ThreadInterfered,   // another thread changed in the middle what the trace had seen
  OnlyCommonForms,    // the backend refuses a graph of a form that other front ends do not make
  NoUnbackedNumbers,  // the backend cannot have numbers that only the run of the graph knows
  GivenSizes,         // the backend compiles for given sizes alone
};

// A frame goes through the pipeline once. Each step returns false where the attempt ends: then `retry` says whether
// another one is worth it. If not, the frame runs eagerly (which has been reported), or a Python error is set.
class CaptureAttempt {
 public:
  CaptureAttempt(PyCodeObject* code, const FrameView& view, PyObject* config, CodeCache& cache,
                 const MemoryWatch& memory, const std::set<RetryReason>& before)
      : code_(code),
        view_(view),
        config_(config),
        cache_(cache),
        memory_(memory),
        before_(before),
        open_(numbers_to_open(cache, config_id(config), config, view)),
        fullgraph_(asks_for_fullgraph(config)) {}

  std::shared_ptr<CacheEntry> run() {
    ++statistics_.frames;
    if (!may_be_captured() || !trace_frame() || !compile_graph() || !make_entry() || !finish_guards()) return nullptr;
    publish();
    return std::move(entry_);
  }

  std::optional<RetryReason> retry() const { return retry_; }

 private:
  PyCodeObject* const code_;
  const FrameView& view_;
  PyObject* const config_;
  CodeCache& cache_;
  const MemoryWatch& memory_;
  const std::set<RetryReason>& before_;
  const DynamicSizes open_;
  const bool fullgraph_;
  Statistics& statistics_ = runtime().statistics;
  OpenCapture& history_ = *OpenCapture::innermost();
  const unsigned long switches_ = thread_switches();
  const uint32_t methods_ = module_methods();
  std::optional<RetryReason> retry_;
  Ref original_;                                      // for a resume function, the code whose places it has
  std::optional<FunctionModesAside> function_modes_;  // until the guards are made, which see the thread as it was
  FrameBreak why_;                                    // the trace ended before the frame did
  std::unique_ptr<TracedFrame> traced_;
  bool begins_with_gradients_ = false;
  Ref compiled_;
  std::shared_ptr<CacheEntry> entry_ = std::make_shared<CacheEntry>();

  DynamicSizes& remembered() { return cache_.open_numbers[config_id(config_)]; }

  bool try_again(RetryReason reason) {
    if (before_.count(reason)) return refuse(BreakReason::Internal, "a capture begins anew without end");
    retry_ = reason;
    return false;
  }

  bool refuse(BreakReason reason, std::string detail) {
    clear_error();
    if (memory_.failed()) return false;
    const Uncaptured record = report_uncaptured(code_, config_, Break{reason, std::move(detail)});
    if (fullgraph_) raise_unsupported(record);
    return false;
  }

  bool may_be_captured() {
    if (!known_types()) return false;
    if (code_->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE))
      return refuse(BreakReason::Generator, "generator functions and coroutines run uncaptured");
    if (const ResumeFunction* resume = find_resume_function(code_)) {
      original_ = original_of(*resume);
      if (!original_) return refuse(BreakReason::Internal, "the function that it goes on with is gone");
    }
    load_rules();  // which also looks for marks
    if (std::optional<SkipReason> rule = skip_reason(view_.function))
      return refuse(rule->reason, std::move(rule->detail));
    history_.lap();
    return true;
  }

  // Traces without what may be the cause of an earlier end, and keeps the trace that gets further.
  bool trace_frame() {
    TraceRequest request{!fullgraph_, force_break_at(code_, config_)};
    Progress progress(code_, config_);
    request.look = [&](const Tracer& tracer) { progress.look(tracer); };
    function_modes_.emplace();
    request.dynamic_floats = open_.never ? open_.optimizer_hyperparameters : open_floats(open_);
    request.unbacked_numbers = unbacked_number_limits(code_, config_id(config_), config_);
    if (!open_.never) request.open = &open_;
    request.specialized_before_backward = open_.specialized_before_backward;
    request.only_common_forms = open_.only_common_forms;
    request.keeps_recurrent_layers_out = !fullgraph_ && is_set(config_, "takes_operators_apart");
    traced_ = trace(code_, view_, request, why_);
    trace_with_given_numbers(request);
    trace_without_unbacked_numbers(request);
    history_.lap(Phase::Evaluate);
    return is_trace_usable();
  }

  bool has_failed() const { return PyErr_Occurred() || memory_.failed(); }
  bool is_whole() const { return traced_ && !traced_->exit.plan.end; }

  // Makes another trace, and keeps it if there was none or it is better. Two at a time cannot be: what one of them
  // holds would not seem to the other to end where the frame lets go of it.
  template <typename IsBetter>
  bool trace_instead(TraceRequest& request, TraceRequest other, IsBetter is_better) {
    const bool had_one = traced_ != nullptr;
    FrameBreak why;
    traced_.reset();
    traced_ = trace(code_, view_, other, why);
    if (!had_one || (traced_ && is_better(why))) {
      request = std::move(other), why_ = std::move(why);
      return true;
    }
    traced_.reset();
    if (!has_failed()) traced_ = trace(code_, view_, request, why_);
    return false;
  }

  // Numbers that are dynamic may be what the trace could not deal with.
  void trace_with_given_numbers(TraceRequest& request) {
    const bool has_marks = traced_ && traced_->tracer->symbols.has_unbacked_marks();
    if (!request.open || open_.none() || is_whole() || has_marks || has_failed()) return;
    TraceRequest given = request;
    given.open = nullptr;
    given.only_whole = traced_ != nullptr;
    given.dynamic_floats = open_.optimizer_hyperparameters;
    given.may_go_below_autograd = fullgraph_;  // where that does without given sizes, it has been done
    if (!fullgraph_) given.specialized_before_backward.reset();
    const std::string reason = why_.detail;
    if (trace_instead(request, std::move(given), [this](const FrameBreak&) { return is_whole(); }))
      report_specialized(code_, config_, open_, reason);
  }

  // So may those that only the run of the graph knows: what they are read from may be the better place to end.
  void trace_without_unbacked_numbers(TraceRequest& request) {
    if (!why_.has_unbacked_numbers || (traced_ && (is_whole() || why_.is_innermost)) || has_failed()) return;
    TraceRequest read = request;
    read.unbacked_numbers.scalars = read.unbacked_numbers.sizes = false;
    trace_instead(request, std::move(read), [this](const FrameBreak& why) { return is_whole() || why.is_innermost; });
  }

  bool is_trace_usable() {
    if (!traced_ && has_failed()) return false;
    if (module_methods() != methods_) {  // another thread has replaced some in the middle
      if (!before_.count(RetryReason::ThreadInterfered) && !is_fx_tracing())
        return try_again(RetryReason::ThreadInterfered);
      traced_.reset();
      function_modes_.reset();
      report_passing(code_, config_, Break{BreakReason::ActiveMode, "methods of nn.Module are replaced"});
      return false;
    }
    if (!traced_ && why_.is_forbidden) {  // an error each time, as long as the program wants one
      raise_unsupported(report_forbidden(code_, config_, why_));
      return false;
    }
    if (!traced_) {
      const Uncaptured record = report_uncaptured(code_, config_, why_);
      if (fullgraph_) raise_unsupported(record);
      return false;
    }
    const Tracer& tracer = *traced_->tracer;
    if (const std::string mark = tracer.symbols.broken_mark(); !mark.empty()) {
      raise_dynamic_size(mark);
      return false;
    }
    history_.move_seconds(Phase::Evaluate, Phase::Propagate, tracer.propagate_seconds);
    statistics_.instructions += tracer.executed;
    if (traced_->exit.plan.end) {
      report_graph_break(code_, config_, why_);
      leave_loops_uncaptured(code_, config_, why_, traced_->exit.resumed);
    }
    return true;
  }

  static PyObject* grad_mode_setter() { return "torch._C._set_grad_enabled"_imported; }

  bool compile_graph() {
    Exit& exit = traced_->exit;
    const Tracer& tracer = *traced_->tracer;
    if (!exit.plan.calls_graph) return true;
    // AOTAutograd makes views of inputs anew behind the graph's end, in the mode that the call began in. Where one may
    // need a history, the call begins with gradients switched on, and the graph switches them off.
    begins_with_gradients_ =
        !tracer.limits.below_autograd && !gradients_are_on() && tracer.graph.calls(grad_mode_setter(), Py_True);
    const std::string name = "__minidynamo_compiled_fn_" + std::to_string(runtime().compiled_functions++);
    exit.plan.compiled_name = name;
    Ref graph_module = export_graph(name);
    history_.lap(Phase::GraphExport);
    if (!graph_module) return refuse(BreakReason::GraphExport, take_error_text());
    if (!announce_open_sizes(graph_module.get(), exit, tracer.symbols)) return false;
    if (is_set(config_, "divides_graphs") && !announce_pieces(graph_module.get(), tracer, exit, name)) return false;
    compiled_ = call_backend(graph_module.get(), name);
    history_.lap(Phase::Backend);
    if (!compiled_) return is_form_refused() && try_again(RetryReason::OnlyCommonForms);
    if (!take_size_conditions(graph_module.get())) return false;
    if (compiled_.is(Py_None))
      return refuse(BreakReason::BackendFailed, "the backend failed and errors are suppressed");
    if (!wrap_compiled()) return false;
    entry_->graph_module = std::move(graph_module);
    ++statistics_.graphs;
    entry_->operators = tracer.graph.call_count();
    statistics_.operators += static_cast<long>(entry_->operators);
    return true;
  }

  Ref export_graph(const std::string& name) const {
    const SubclassesMuted looked_at;
    const Node off = call_of_constant(grad_mode_setter(), Py_False);
    const bool is_needed = begins_with_gradients_ && !traced_->tracer->graph.begins_with(grad_mode_setter());
    return to_graph_module(traced_->tracer->graph, traced_->exit.outputs, name, is_needed ? &off : nullptr);
  }

  // Null with BackendCompilerFailed, or where other threads were in the way: a later call is captured then.
  Ref call_backend(PyObject* graph_module, const std::string& name) const {
    const Ref inputs = example_inputs(traced_->exit);
    if (!inputs) return nullptr;
    std::optional<BelowAutogradScope> as_it_runs;
    if (traced_->tracer->limits.below_autograd) as_it_runs.emplace();
    std::optional<GradientsOn> as_it_begins;
    if (begins_with_gradients_) as_it_begins.emplace();
    // To look at the base of such an input would run the program's code.
    std::optional<SubclassesMuted> looked_at;
    if (std::ranges::any_of(traced_->exit.inputs,
                            [](const Source* input) { return input->access == Access::PlainTensor; }))
      looked_at.emplace();
    return compile(config_, graph_module, inputs.get(), name);
  }

  // The backend may take the same without the parts that other front ends leave out of graphs.
  bool is_form_refused() {
    if (fullgraph_ || open_.only_common_forms || !is_refused_by_backend() || !has_form_of_its_own(*traced_->tracer))
      return false;
    report_other_form(code_, config_, take_error_text());
    remembered().only_common_forms = true;
    remembered().specialized_before_backward.reset();
    return true;
  }

  bool take_size_conditions(PyObject* graph_module) {
    const auto conditions = size_conditions(graph_module, traced_->exit, traced_->tracer->symbols);
    if (!conditions && traced_->tracer->unbacked_numbers.any()) {
      remembered().no_unknown = true;
      return try_again(RetryReason::NoUnbackedNumbers);
    }
    if (!conditions) {
      remembered().never = true;
      report_specialized(code_, config_, open_, "the backend compiles for given sizes alone");
      return try_again(RetryReason::GivenSizes);
    }
    for (const SizeCondition& condition : *conditions) traced_->tracer->symbols.sizes()->ask(condition);
    return true;
  }

  // The hook is on while residual code runs, for the functions that it calls; the backend's own code is not captured.
  bool wrap_compiled() {
    const Tracer& tracer = *traced_->tracer;
    CompiledFunctionState state{
        traced_->exit.plan.end.has_value(), tracer.limits.below_autograd, begins_with_gradients_, {}};
    if (PyObject* const left = tracer.graph.last_given_to(grad_mode_setter()); left && PyBool_Check(left))
      state.ends_with_gradients = left == Py_True;
    compiled_ = compiled_function(compiled_.get(), state);
    if (!compiled_) return false;
    compiled_ = counting_callable(std::move(compiled_), tracer, traced_->exit);
    compiled_ = drawing_callable(std::move(compiled_), tracer, traced_->exit);
    return true;
  }

  bool make_entry() {
    history_.lap();
    Exit& exit = traced_->exit;
    const Tracer& tracer = *traced_->tracer;
    CacheEntry& entry = *entry_;
    entry.is_broken = exit.plan.end.has_value();
    entry.rebinds = entry.is_broken ? rebound_parameters(code_) : tracer.ends.lost_at_return;
    entry.frees_locals = exit.plan.frees_locals =
        entry.is_broken && exit.plan.calls_graph && find_resume_function(code_) &&
        std::find(entry.rebinds.begin(), entry.rebinds.end(), true) != entry.rebinds.end();
    PyObject* globals = as_function(view_.function)->func_globals;
    entry.residual_function = residual_function(exit.plan, code_, globals, compiled_.get());
    if (!entry.residual_function) return refuse(BreakReason::Codegen, take_error_text());
    entry.source = to_source(exit.plan, code_);
    entry.compiled = std::move(compiled_);
    entry.graph_inputs = static_cast<uint32_t>(exit.inputs.size());
    entry.uses_live = exit.plan.frees_locals;
    for (const PlanStep& step : exit.plan.steps) entry.uses_live |= step.kind == PlanStep::Kind::Live;
    history_.lap(Phase::Codegen);

    Repeatable repeatable = is_repeatable(tracer, exit.inputs);
    entry.keeps_random_state = (repeatable.how == Repeatable::How::WithSameNumbers && may_raise(tracer)) ||
                               repeatable.how == Repeatable::How::WithSameInputs;
    entry.may_run_again = repeatable.how == Repeatable::How::AsItIs || entry.keeps_random_state;
    if (repeatable.how == Repeatable::How::WithSameInputs) entry.written_inputs = std::move(repeatable.inputs);
    entry.has_suppositions = tracer.unbacked_numbers.checks_suppositions();
    entry.sets_modes = begins_with_gradients_ || tracer.graph.sets_modes();
    entry.changes_state = entry.keeps_random_state || entry.written_inputs || entry.sets_modes;
    return true;
  }

  bool finish_guards() {
    const Tracer& tracer = *traced_->tracer;
    GuardTree& guards = entry_->guards = std::move(traced_->guards);
    if (!open_.sources.empty() || tracer.symbols.active()) close_specialized(cache_, config_id(config_), tracer);
    if (const Symbols& symbols = tracer.symbols; symbols.active()) {
      report_open(code_, config_, symbols);
      guards.sizes(symbols.numbers(), symbols.guards());
    }
    open_arguments(config_id(config_), traced_->exit);
    remembered().specialized_before_backward.reset();
    if (tracer.limits.below_autograd)
      remembered().specialized_before_backward = std::move(traced_->specialized_before_backward);
    function_modes_.reset();
    if (!finish_wanted_guards(guards, config_)) return false;
    traced_.reset();  // a guard may count references
    std::vector<PyObject*> slots(guards.gathered());
    const auto begun = std::chrono::steady_clock::now();
    const bool holds = guards.check(view_, slots.data());
    entry_->guard_seconds = seconds_since(begun);
    history_.lap(Phase::Guards);
    // A trace changes nothing, so what it learnt must hold right after it, unless another thread has changed something.
    if (holds) return true;
    if (!before_.count(RetryReason::ThreadInterfered) && thread_switches() != switches_)
      return try_again(RetryReason::ThreadInterfered);
    return refuse(BreakReason::GuardsFail, guards.explain_failure(view_));
  }

  void publish() {
    statistics_.guards += static_cast<long>(entry_->guards.guard_count());
    ++statistics_.captured;
    entry_->id = history_.id();
    report_entry(code_, config_, *entry_);
  }
};

std::shared_ptr<CacheEntry> capture_in_attempts(PyCodeObject* code, const FrameView& view, PyObject* config,
                                                CodeCache& cache, const MemoryWatch& memory) {
  const InterruptionsHeld until_the_end;
  std::set<RetryReason> reasons;
  for (;;) {
    CaptureAttempt attempt(code, view, config, cache, memory, reasons);
    std::shared_ptr<CacheEntry> entry = attempt.run();
    if (entry || !attempt.retry()) return entry;
    reasons.insert(*attempt.retry());
  }
}

}  // namespace

std::shared_ptr<CacheEntry> capture(PyCodeObject* code, const FrameView& view, PyObject* config) {
  const MemoryWatch memory;
  std::shared_ptr<CacheEntry> entry;
  try_to([&] {
    if (CodeCache* cache = CodeCache::get(code)) entry = capture_in_attempts(code, view, config, *cache, memory);
  });
  look_at_error();
  if (!memory.failed()) return entry;
  // A guard or a node that was left out would be missing for good.
  entry.reset();
  {
    const ErrorSetAside error;  // the backend's, or one that waited for the end of the trace
    try_to([&] { report_passing(code, config, Break{BreakReason::OutOfMemory, ""}); });
  }
  if (!PyErr_Occurred() && asks_for_fullgraph(config)) PyErr_NoMemory();
  return nullptr;
}

}  // namespace minidynamo
