#include "hook/capture.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "bytecode/op_facts.h"
#include "emit/plan.h"
#include "emit/resume.h"
#include "hook/capture_history.h"
#include "hook/changing_numbers.h"
#include "hook/compiled_function.h"
#include "hook/counting_callable.h"
#include "hook/drawing_callable.h"
#include "hook/fx_tracers.h"
#include "hook/graph_pieces.h"
#include "hook/policy.h"
#include "hook/profiler_switch.h"
#include "hook/progress.h"
#include "hook/report.h"
#include "hook/settings.h"
#include "hook/stance.h"
#include "hook/timed_call.h"
#include "hook/trace_frame.h"
#include "hook/turn.h"
#include "hook/wanted_guards.h"
#include "library/rules.h"
#include "model/tensor_call.h"
#include "model/upward.h"
#include "plan/exit.h"
#include "python/cached.h"
#include "python/error_text.h"
#include "python/interruptions.h"
#include "python/native_function.h"
#include "python/out_of_memory.h"
#include "python/thread_switches.h"
#include "tensor/below_autograd.h"
#include "tensor/function_mode_stack.h"
#include "tensor/override_probe.h"
#include "tensor/profiler_region.h"
#include "tensor/thread_modes.h"
#include "world/known_types.h"
#include "world/repeatable_graph.h"

namespace minidynamo {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

// The limits that the configuration asks for.
void apply_settings(PyObject* config) {
  const Ref limit = setting(config, "recompile_limit");
  if (limit && PyLong_Check(limit.get())) CacheRegistry::instance().recompile_limit = PyLong_AsSize_t(limit.get());
  const Ref limits = setting(config, "trace_limits");
  if (limits && PyTuple_Check(limits.get()) && PyTuple_GET_SIZE(limits.get()) == 3)
    runtime().limits = {PyLong_AsLong(PyTuple_GET_ITEM(limits.get(), 0)),
                        PyLong_AsSize_t(PyTuple_GET_ITEM(limits.get(), 1)),
                        static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(limits.get(), 2))), runtime().stress.on};
  clear_error();
}

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

// Calls the backend, one thread at a time: backends change state of the whole process. Null: the frame runs as it was,
// or a Python error is set.
Ref compile(PyObject* config, PyObject* graph_module, PyObject* inputs, const std::string& name) {
  // What has waited is the program's error, not the backend's; and a backend may take minutes.
  if (!deliver_interruptions()) return nullptr;
  InterruptionsLetIn all;
  ModeScope nothing_else(kCaptureNothing);
  BackendTurn turn;
  const Turn taken = turn.take(capture_deadline(config));
  // Under fullgraph the frame may not run as it was.
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
  static constinit Imported failure{"minidynamo.exceptions.BackendCompilerFailed"};
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);  // importing clears what is set
  const bool is_refused = type && PyErr_GivenExceptionMatches(type, failure);
  PyErr_Restore(type, value, traceback);
  return is_refused;
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

// `is_second`: what the first capture had learnt did not hold any more at its end.
std::shared_ptr<CacheEntry> capture_once(PyCodeObject* code, const FrameView& view, PyObject* config,
                                         const OpenNumbers& open, bool is_second, const MemoryWatch& memory) {
  InterruptionsHeld until_the_end;
  Statistics& statistics = runtime().statistics;
  OpenCapture& history = *OpenCapture::innermost();
  const unsigned long switches = thread_switches();
  ++statistics.frames;
  const bool fullgraph = asks_for_fullgraph(config);
  if (!known_types()) return nullptr;
  auto refuse = [&](BreakReason reason, std::string detail) -> std::shared_ptr<CacheEntry> {
    clear_error();
    if (memory.failed()) return nullptr;
    const Uncaptured record = report_uncaptured(code, config, Break{reason, std::move(detail)});
    if (fullgraph) raise_unsupported(record);
    return nullptr;
  };
  if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE))
    return refuse(BreakReason::Generator, "generator functions and coroutines run uncaptured");
  Ref original;  // whose places those of a resume function are
  if (const ResumeFunction* resume = find_resume_function(code)) {
    original = original_of(*resume);
    if (!original) return refuse(BreakReason::Internal, "the function that it goes on with is gone");
  }
  load_rules();  // which also looks for marks
  if (std::optional<SkipReason> rule = skip_reason(view.function)) return refuse(rule->reason, std::move(rule->detail));

  history.lap();
  FrameBreak why;
  const uint32_t methods = module_methods();
  TraceRequest request{!fullgraph, force_break_at(code, config)};
  Progress progress(code, config);
  request.look = [&](const Tracer& tracer) { progress.look(tracer); };
  // Until the guards are made, which see the thread as it was.
  std::optional<FunctionModesAside> function_modes(std::in_place);
  request.changing_numbers = open.never ? open.rates : open_floats(open);
  request.unknown_numbers = unknown_number_limits(code, config_id(config), config);
  if (!open.never) request.open = &open;
  request.settled_before_backward = open.settled_before_backward;
  request.only_common_forms = open.only_common_forms;
  request.keeps_recurrent_layers_out = !fullgraph && is_set(config, "takes_operators_apart");
  std::unique_ptr<TracedFrame> traced = trace(code, view, request, why);
  // Numbers that are left open may be what the trace could not deal with.
  if (request.open && !open.none() && (!traced || traced->exit.plan.end) &&
      !(traced && traced->tracer->symbols.has_unbacked_marks()) && !PyErr_Occurred() && !memory.failed()) {
    FrameBreak why_static;
    request.open = nullptr;
    request.changing_numbers = open.rates;
    request.may_go_below_autograd = fullgraph;  // where that does without given sizes, it has been done
    if (!fullgraph) request.settled_before_backward.reset();
    std::unique_ptr<TracedFrame> as_they_are = trace(code, view, request, why_static);
    if (!traced || (as_they_are && !as_they_are->exit.plan.end)) {
      report_settled(code, config, open, why.detail);
      traced = std::move(as_they_are), why = std::move(why_static);
    }
  }
  // So may those that only the run of the graph knows: what they are read from may be the better place to end.
  if (why.has_unknown_numbers && (!traced || (traced->exit.plan.end && !why.is_innermost)) && !PyErr_Occurred() &&
      !memory.failed()) {
    FrameBreak why_without;
    request.unknown_numbers.scalars = request.unknown_numbers.sizes = false;
    std::unique_ptr<TracedFrame> without = trace(code, view, request, why_without);
    if (!traced || (without && (!without->exit.plan.end || why_without.is_innermost)))
      traced = std::move(without), why = std::move(why_without);
  }
  history.lap(Phase::Evaluate);
  if (!traced && (PyErr_Occurred() || memory.failed())) return nullptr;
  if (module_methods() != methods) {  // another thread has replaced some in the middle
    traced.reset();
    function_modes.reset();
    if (!is_second && !is_fx_tracing()) return capture_once(code, view, config, open, true, memory);
    report_passing(code, config, Break{BreakReason::ActiveMode, "methods of nn.Module are replaced"});
    return nullptr;
  }
  if (!traced && why.is_forbidden) {  // an error each time, as long as the program wants one
    raise_unsupported(report_forbidden(code, config, why));
    return nullptr;
  }
  if (!traced) {
    const Uncaptured record = report_uncaptured(code, config, why);
    if (fullgraph) raise_unsupported(record);
    return nullptr;
  }
  if (const std::string mark = traced->tracer->symbols.broken_mark(); !mark.empty()) {
    raise_dynamic_size(mark);
    return nullptr;
  }
  history.move_seconds(Phase::Evaluate, Phase::Propagate, traced->tracer->propagate_seconds);
  statistics.instructions += traced->tracer->executed;
  if (traced->exit.plan.end) {
    report_graph_break(code, config, why);
    leave_loops_uncaptured(code, config, why, traced->exit.resumed);
  }
  auto entry = std::make_shared<CacheEntry>();
  Exit& exit = traced->exit;

  PyObject* globals = as_function(view.function)->func_globals;
  Ref compiled;
  // AOTAutograd makes views of inputs anew behind the graph's end, in the mode that the call began in. Where one may
  // need a history, the call begins with gradients switched on, and the graph switches them off.
  static constinit Imported grad_mode_setter{"torch._C._set_grad_enabled"};
  const bool begins_with_gradients = exit.plan.calls_graph && !traced->tracer->limits.below_autograd &&
                                     !gradients_are_on() && traced->tracer->graph.calls(grad_mode_setter, Py_True);
  if (exit.plan.calls_graph) {
    const std::string name = "__minidynamo_compiled_fn_" + std::to_string(runtime().compiled_functions++);
    exit.plan.compiled_name = name;
    Ref graph_module;
    {
      const SubclassesMuted looked_at;
      const Node off = call_of_constant(grad_mode_setter, Py_False);
      const bool is_needed = begins_with_gradients && !traced->tracer->graph.begins_with(grad_mode_setter);
      graph_module = to_graph_module(traced->tracer->graph, exit.outputs, name, is_needed ? &off : nullptr);
    }
    history.lap(Phase::GraphExport);
    if (!graph_module) return refuse(BreakReason::GraphExport, take_error_text());
    if (!announce_open_sizes(graph_module.get(), exit, traced->tracer->symbols)) return nullptr;
    if (is_set(config, "divides_graphs") && !announce_pieces(graph_module.get(), *traced->tracer, exit, name))
      return nullptr;
    Ref inputs = example_inputs(exit);
    const bool below_autograd = traced->tracer->limits.below_autograd;
    if (inputs) {
      std::optional<BelowAutogradScope> as_it_runs;
      if (below_autograd) as_it_runs.emplace();
      std::optional<GradientsOn> as_it_begins;
      if (begins_with_gradients) as_it_begins.emplace();
      // Who looks at such an input's base would run the program's code.
      std::optional<SubclassesMuted> looked_at;
      if (std::ranges::any_of(exit.inputs, [](const Source* input) { return input->access == Access::PlainTensor; }))
        looked_at.emplace();
      compiled = compile(config, graph_module.get(), inputs.get(), name);
    }
    history.lap(Phase::Backend);
    if (!compiled && !fullgraph && !open.only_common_forms && is_refused_by_backend() &&
        has_form_of_its_own(*traced->tracer)) {
      const std::string error = take_error_text();
      report_other_form(code, config, error);
      OpenNumbers& next = CodeCache::get(code)->open_numbers[config_id(config)];
      next.only_common_forms = true;
      next.settled_before_backward.reset();
      OpenNumbers common = open;
      common.only_common_forms = true;
      common.settled_before_backward.reset();
      function_modes.reset();
      return capture_once(code, view, config, common, is_second, memory);
    }
    if (!compiled) return nullptr;  // BackendCompilerFailed; or others were in the way, and a later call is captured
    auto conditions = size_conditions(graph_module.get(), exit, traced->tracer->symbols);
    if (!conditions && traced->tracer->unknown_numbers.any()) {
      CodeCache::get(code)->open_numbers[config_id(config)].no_unknown = true;
      function_modes.reset();
      return capture_once(code, view, config, open, is_second, memory);
    }
    if (!conditions) {
      CodeCache::get(code)->open_numbers[config_id(config)].never = true;
      report_settled(code, config, open, "the backend compiles for given sizes alone");
      function_modes.reset();
      return capture_once(code, view, config, {}, is_second, memory);
    }
    for (const SizeCondition& condition : *conditions) traced->tracer->symbols.sizes()->ask(condition);
    if (compiled.is(Py_None)) return refuse(BreakReason::BackendFailed, "the backend failed and errors are suppressed");
    // What the backend made is not captured, though the hook is there for what the residual code calls.
    CompiledFunctionState state{exit.plan.end.has_value(), below_autograd, begins_with_gradients, {}};
    if (PyObject* const left = traced->tracer->graph.last_given_to(grad_mode_setter); left && PyBool_Check(left))
      state.ends_with_gradients = left == Py_True;
    compiled = compiled_function(compiled.get(), state);
    if (!compiled) return nullptr;
    compiled = counting_callable(std::move(compiled), *traced->tracer, exit);
    compiled = drawing_callable(std::move(compiled), *traced->tracer, exit);
    entry->graph_module = std::move(graph_module);
    ++statistics.graphs;
    entry->operators = traced->tracer->graph.call_count();
    statistics.operators += static_cast<long>(entry->operators);
  }
  history.lap();
  entry->is_broken = exit.plan.end.has_value();
  entry->rebinds = entry->is_broken ? rebound_parameters(code) : traced->tracer->ends.lost_at_return;
  entry->frees_locals = exit.plan.frees_locals =
      entry->is_broken && exit.plan.calls_graph && find_resume_function(code) &&
      std::find(entry->rebinds.begin(), entry->rebinds.end(), true) != entry->rebinds.end();
  entry->residual_function = residual_function(exit.plan, code, globals, compiled.get());
  if (!entry->residual_function) return refuse(BreakReason::Codegen, take_error_text());
  entry->source = to_source(exit.plan, code);
  entry->compiled = std::move(compiled);
  entry->graph_inputs = static_cast<uint32_t>(exit.inputs.size());
  entry->uses_live = exit.plan.frees_locals;
  for (const PlanStep& step : exit.plan.steps) entry->uses_live |= step.kind == PlanStep::Kind::Live;
  history.lap(Phase::Codegen);

  Repeatable repeatable = is_repeatable(*traced->tracer, exit.inputs);
  entry->keeps_random_state = (repeatable.how == Repeatable::How::WithSameNumbers && may_raise(*traced->tracer)) ||
                              repeatable.how == Repeatable::How::WithSameInputs;
  entry->may_run_again = repeatable.how == Repeatable::How::AsItIs || entry->keeps_random_state;
  if (repeatable.how == Repeatable::How::WithSameInputs) entry->written_inputs = std::move(repeatable.inputs);
  entry->has_suppositions = traced->tracer->unknown_numbers.checks_suppositions();
  entry->sets_modes = begins_with_gradients || traced->tracer->graph.sets_modes();
  entry->changes_state = entry->keeps_random_state || entry->written_inputs || entry->sets_modes;
  entry->guards = std::move(traced->guards);
  if (!open.sources.empty() || traced->tracer->symbols.active())
    close_settled(*CodeCache::get(code), config_id(config), *traced->tracer);
  if (const Symbols& symbols = traced->tracer->symbols; symbols.active()) {
    report_open(code, config, symbols);
    entry->guards.sizes(symbols.numbers(), symbols.guards());
  }
  open_arguments(config_id(config), exit);
  auto& last_time = CodeCache::get(code)->open_numbers[config_id(config)].settled_before_backward;
  last_time.reset();
  if (traced->tracer->limits.below_autograd) last_time = std::move(traced->settled_before_backward);
  function_modes.reset();
  if (!finish_wanted_guards(entry->guards, config)) return nullptr;
  traced.reset();  // a guard may count references
  std::vector<PyObject*> slots(entry->guards.gathered());
  const auto begun = std::chrono::steady_clock::now();
  const bool holds = entry->guards.check(view, slots.data());
  entry->guard_seconds = seconds_since(begun);
  history.lap(Phase::Guards);
  // A trace changes nothing, so what it learnt must hold right after it.
  if (!holds) {
    // Unless another thread has changed something meanwhile. Once more, then.
    if (!is_second && thread_switches() != switches) return capture_once(code, view, config, open, true, memory);
    return refuse(BreakReason::GuardsFail, entry->guards.explain_failure(view));
  }
  statistics.guards += static_cast<long>(entry->guards.guard_count());
  ++statistics.captured;
  entry->id = history.id();
  report_entry(code, config, *entry);
  return entry;
}

}  // namespace

std::shared_ptr<CacheEntry> capture(PyCodeObject* code, const FrameView& view, PyObject* config) {
  const MemoryWatch memory;
  std::shared_ptr<CacheEntry> entry;
  try_to([&] {
    CodeCache* cache = CodeCache::get(code);
    if (!cache) return;
    const OpenNumbers open = numbers_to_open(*cache, config_id(config), config, view);
    entry = capture_once(code, view, config, open, false, memory);
  });
  look_at_error();
  if (!memory.failed()) return entry;
  // A guard or a node that was left out would be missing for good.
  entry.reset();
  PyObject *type, *value, *traceback;  // of the backend, or what waited for the end of the trace
  PyErr_Fetch(&type, &value, &traceback);
  try_to([&] { report_passing(code, config, Break{BreakReason::OutOfMemory, ""}); });
  const bool must_raise = !type && asks_for_fullgraph(config);
  PyErr_Restore(type, value, traceback);
  if (must_raise) PyErr_NoMemory();
  return nullptr;
}

namespace {

PyObject* config_died(PyObject*, PyObject* reference) {
  auto& configs = runtime().configs;
  for (auto known = configs.begin(); known != configs.end(); ++known) {
    if (!known->second.is(reference)) continue;
    const auto id = reinterpret_cast<ConfigId>(known->first);
    Ref last_hold = std::move(known->second);
    configs.erase(known);
    CacheRegistry::instance().forget(id);
    break;
  }
  Py_RETURN_NONE;
}

}  // namespace

ConfigId config_id(PyObject* config) {
  if (!runtime().configs.count(config)) {
    PyObject* const callback = native_function<METH_O, config_died>("config_died");
    runtime().configs.emplace(config, Ref::made(PyWeakref_NewRef(config, callback)));
  }
  return reinterpret_cast<ConfigId>(config);
}

namespace {

[[gnu::noinline]] bool find_cached_profiled(CodeCache* cache, const FrameView& view, PyObject* config,
                                            FoundEntry& found) {
  const ProfilerRegion region("minidynamo guards " + function_id(cache->code()) + " " + display_name(cache->code()));
  found.entry = cache->find_hit(reinterpret_cast<ConfigId>(config), view, found.room, found.slots);
  return static_cast<bool>(found.entry);
}

}  // namespace

bool find_cached(CodeCache* cache, const FrameView& view, PyObject* config, FoundEntry& found) {
  if (profiler_is_on()) [[unlikely]]
    return find_cached_profiled(cache, view, config, found);
  found.entry = cache->find_hit(reinterpret_cast<ConfigId>(config), view, found.room, found.slots);
  return static_cast<bool>(found.entry);
}

namespace {

FrameAnswer no_entry() noexcept { return PyErr_Occurred() ? FrameAnswer::Raise : FrameAnswer::Plain; }

// Whether it is a number alone that keeps each of several entries from fitting: an index, a count of steps, a loss. The
// next one would serve as little.
bool changes_by_a_number(const CodeCache& cache, ConfigId id, const FrameView& view) {
  constexpr size_t kSeveral = 2;
  size_t refused = 0;
  for (const std::shared_ptr<CacheEntry>& entry : cache.entries()) {
    if (entry->config != id) continue;
    const GuardTree::Refusal refusal = entry->guards.refusal(view);
    constexpr std::string_view kSays = ": expected ";
    const size_t at = refusal.message.find(kSays);
    // One that was left open, and asked for all the same.
    if (refusal.kind == "Sizes" && refusal.message.find(" == ") < refusal.message.find(" does not hold")) {
      ++refused;
      continue;
    }
    const bool is_number =
        refusal.kind == "Constant" && at != std::string::npos &&
        std::string_view("0123456789-").find(refusal.message[at + kSays.size()]) != std::string::npos;
    if (!is_number) return false;
    ++refused;
  }
  return refused >= kSeveral;
}

// Under global capture, of a frame that nobody asked for: no more entries, and no word but in the log.
bool leave_to_changing_number(CodeCache& cache, const FrameView& view, PyObject* config) {
  const ConfigId id = reinterpret_cast<ConfigId>(config);
  if (!runtime().global_config.is(config) || thread_mode().target == cache.code() || asks_for_fullgraph(config) ||
      !changes_by_a_number(cache, id, view))
    return false;
  static constexpr const char* kWhy = "a number that is another one at each call is part of what was captured";
  cache.told.limit = true;
  report_passing(cache.code(), config, Break{BreakReason::RecompileLimit, kWhy});
  cache.skip({id, "recompile-limit", kWhy});
  return true;
}

// For an entry beyond the limit, by the one that was asked least lately. Its end may run code: what a check gathers is
// gathered after it.
void make_room(CodeCache& cache, ConfigId id) {
  const CacheEntry* last = nullptr;
  for (const std::shared_ptr<CacheEntry>& entry : cache.entries())
    if (entry->config == id) last = entry.get();
  if (last) cache.remove(last);
}

// One thread captures it, while others wait for what comes of that.
FrameAnswer capture_in_turn(CodeCache& cache, const FrameView& view, PyObject* config, FoundEntry& found,
                            const MemoryWatch& memory) {
  const uint64_t seen = cache.changes();
  apply_settings(config);
  const Deadline deadline = capture_deadline(config);
  const ConfigId id = config_id(config);
  CaptureTurn turn(cache.code(), id);
  bool is_last = false;
  for (bool is_news = cache.changes() != seen;; is_news = true) {
    // Another thread may have captured it, or found that it cannot be, meanwhile.
    if (is_news && find_cached(&cache, view, config, found)) return FrameAnswer::Entry;
    is_last = cache.entry_count(id) >= CacheRegistry::instance().recompile_limit && !cache.skipped(id) &&
              open_at_last(cache, id, config, view);
    const LookupResult missed = is_last ? LookupResult() : cache.miss(id);
    if (missed.outcome == LookupResult::Outcome::Uncaptured) {
      report_skipped(cache.code(), config, *missed.skip, view);
      doubt_whether_it_pays(cache);
      return no_entry();
    }
    const Turn taken = [&] {
      InterruptionsLetIn while_waiting;
      return turn.take(deadline);
    }();
    if (taken == Turn::Mine || (taken == Turn::Never && asks_for_fullgraph(config))) break;
    if (taken != Turn::Over) return no_entry();
  }
  // Where memory was refused, no guard is known to have failed, nor a setting to be what it seems.
  if (memory.failed()) return no_entry();
  if (leave_to_changing_number(cache, view, config)) return no_entry();
  std::optional<OpenCapture> history(std::in_place, cache, config, view);
  if (cache.entry_count(id)) {
    report_recompile(cache.code(), config, cache, view);
    if (forbids_recompiles(config)) {
      raise_recompile(cache, config, view, "setting");
      return FrameAnswer::Raise;
    }
  }
  found.entry = capture(cache.code(), view, config);
  if (!found.entry) doubt_whether_it_pays(cache);
  if (!found.entry) return no_entry();
  found.entry->config = id;
  if (is_last) make_room(cache, id);
  found.slots = found.room.reserve(found.entry->guards.gathered());
  const auto begun = std::chrono::steady_clock::now();
  if (!found.entry->guards.check(view, found.slots)) return no_entry();
  // The quicker of the two checks that have been made: one alone may have met a switch of threads.
  found.entry->guard_seconds = std::min(found.entry->guard_seconds, seconds_since(begun));
  history->ends_with(*found.entry);
  try_to([&] { cache.add(found.entry); });  // or it is used this once
  if (found.entry->is_broken) doubt_whether_it_pays(cache);
  history.reset();  // which runs Python code, and with it perhaps other threads
  // What a check gathers is borrowed: nothing runs between it and its use.
  found.slots = found.room.reserve(found.entry->guards.gathered());
  return found.entry->guards.check(view, found.slots) ? FrameAnswer::Entry : no_entry();
}

FrameAnswer leave_to_its_frame(CodeCache& cache, PyObject* config) {
  static constexpr const char* kWhy = "the function holds an object with a finalizer, which ends in it";
  if (std::exchange(cache.told.passing, kWhy) == kWhy) return FrameAnswer::Plain;
  const InterruptionsHeld until_it_is_told;
  report_passing(cache.code(), config, Break{BreakReason::Finalizer, kWhy});
  return no_entry();
}

// What the stance says of a frame that no entry fits; nothing: capture it. A resume function belongs to a capture that
// was allowed.
std::optional<FrameAnswer> answer_of_stance(CodeCache& cache, const FrameView& view, PyObject* config,
                                            FoundEntry& found, const MemoryWatch& memory) {
  const Stance stance = current_stance();
  const bool is_delayed = (stance == Stance::EagerThenCompile || stance == Stance::AotEagerThenCompile) &&
                          !find_resume_function(cache.code()) && !std::exchange(cache.told.first_call, true);
  if (stance == Stance::EagerOnRecompile || CachedOnly::is_on()) return no_entry();
  if (stance == Stance::FailOnRecompile) {
    raise_recompile(cache, config, view, "stance");
    return FrameAnswer::Raise;
  }
  if (!is_delayed) return std::nullopt;
  if (stance == Stance::EagerThenCompile) return no_entry();
  const Ref for_first_call = config_with_aot_eager(config);
  if (!for_first_call) return FrameAnswer::Raise;
  return capture_in_turn(cache, view, for_first_call.get(), found, memory);
}

}  // namespace

FrameAnswer find_entry(PyCodeObject* code, const FrameView& view, PyObject* config, FoundEntry& found) {
  const MemoryWatch memory;
  CodeCache* cache = CodeCache::get(code);
  if (!cache) return no_entry();
  if (holds_last_of_finalized(code, view)) return leave_to_its_frame(*cache, config);
  if (find_cached(cache, view, config, found)) return FrameAnswer::Entry;
  const char* mode = what_forbids_capture();
  if (PyErr_Occurred()) return FrameAnswer::Raise;  // of a signal handler that ran meanwhile
  if (mode && cache->told.passing == mode) return FrameAnswer::Apart;
  // What runs as it is does so at once: all that follows takes longer than a small function.
  const ConfigId id = reinterpret_cast<ConfigId>(config);
  if (const SkipMark* mark = mode ? nullptr : cache->skipped(id);
      mark && !asks_for_fullgraph(config) && !must_tell_of_limit(config, *mark)) {
    cache->miss(id);
    return FrameAnswer::Plain;
  }
  const InterruptionsHeld until_the_end;  // what follows runs Python code of ours, and clears its errors
  const Ref its_owner = Ref::borrow(as_object(code));
  if (!mode && (current_stance() != Stance::Default || CachedOnly::is_on()))
    if (const auto answer = answer_of_stance(*cache, view, config, found, memory)) return *answer;
  if (!mode) return capture_in_turn(*cache, view, config, found, memory);
  cache->told.passing = mode;
  report_passing(code, config, Break{BreakReason::ActiveMode, mode});
  return FrameAnswer::Apart;
}

void reset_runtime() {
  Runtime& state = runtime();
  CacheRegistry::instance().reset();
  // Emptied first: letting go of a record may run code that adds some.
  const auto records = std::exchange(state.uncaptured, {});
  state.break_counts.clear();
  const auto captures = std::exchange(state.captures, {});
  state.statistics = {};
  state.compiled_functions = 0;
  clear_fake_memo();
  forget_resume_functions();
  if (!Tracer::any_running()) forget_prepared_codes();  // another thread's trace holds on to them
}

}  // namespace minidynamo
