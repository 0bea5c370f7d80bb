#include "hook/capture.h"

#include <chrono>

#include "codegen/exit.h"
#include "codegen/plan.h"
#include "hook/frame_hook.h"
#include "hook/report.h"
#include "python/error_text.h"
#include "trace/evaluate.h"
#include "trace/known_types.h"
#include "trace/rules.h"
#include "trace/user_rules.h"

namespace minidynamo {
namespace {

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// The garbage collector would run finalizers of other people's objects in the middle of a trace.
class CollectorPaused {
 public:
  CollectorPaused() : was_enabled_(PyGC_Disable()) {}
  ~CollectorPaused() {
    if (was_enabled_) PyGC_Enable();
  }
  CollectorPaused(const CollectorPaused&) = delete;

 private:
  bool was_enabled_;
};

// The limits that the configuration asks for.
void apply_settings(PyObject* config) {
  Ref limit = Ref::steal(PyObject_GetAttrString(config, "recompile_limit"));
  if (limit && PyLong_Check(limit.get())) CacheRegistry::instance().recompile_limit = PyLong_AsSize_t(limit.get());
  Ref limits = Ref::steal(PyObject_GetAttrString(config, "trace_limits"));
  if (limits && PyTuple_Check(limits.get()) && PyTuple_GET_SIZE(limits.get()) == 3)
    runtime().limits = {PyLong_AsLong(PyTuple_GET_ITEM(limits.get(), 0)),
                        PyLong_AsSize_t(PyTuple_GET_ITEM(limits.get(), 1)),
                        static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(limits.get(), 2)))};
  PyErr_Clear();
}

// Traces the frame. True if `exit` is planned; otherwise tracer.broken().
bool trace(Tracer& tracer, PyCodeObject* code, const FrameView& view, Exit& exit) {
  const PreparedCode* prepared = prepare(code);
  if (!prepared) return false;
  load_rules();
  CollectorPaused collector;
  Ref handled = Ref::steal(PyErr_GetHandledException());
  ModeScope nothing_else(kCaptureNothing);
  TensorTraceScope tensors(tracer);
  TracerActivation activation(tracer);
  HookInstalled hook;

  auto root = std::make_unique<Frame>(prepared, view.function, nullptr);
  root->is_root = true;
  root->pending.assign(view.locals, view.locals + prepared->locals_count);
  static PyObject* const globals_name = PyUnicode_InternFromString("__globals__");
  PyObject* globals = root->globals.get();
  Source* own_globals =
      tracer.guards.child(tracer.guards.function(view.function), Access::Attribute, globals_name, -1, globals);
  tracer.guards.add(own_globals, GuardKind::Identity, GuardOrigin{code, code->co_firstlineno});

  Ref result = evaluate(tracer, std::move(root));
  bool planned = false;
  if (result && !tracer.broken()) {
    planned = plan_exit(tracer, result.get(), exit);
  } else if (!tracer.broken()) {
    const std::string text = take_error_text();
    tracer.give_up(BreakReason::Exception, "the call ends with " + text);
  }
  result.reset();
  PyErr_Clear();
  PyErr_SetHandledException(handled.get());
  return planned && !tracer.broken();
}

// Calls the backend with real tensors. Null: the frame runs as it was, or a Python error is set.
Ref compile(const Exit& exit, PyObject* config, PyObject* graph_module, const std::string& name) {
  Ref inputs = Ref::steal(PyList_New(0));
  for (Source* source : exit.inputs)
    if (PyList_Append(inputs.get(), source->value.get()) < 0) return nullptr;
  ModeScope nothing_else(kCaptureNothing);
  return Ref::steal(PyObject_CallMethod(config, "compile_graph", "OOs", graph_module, inputs.get(), name.c_str()));
}

}  // namespace

std::shared_ptr<CacheEntry> capture(PyCodeObject* code, const FrameView& view, PyObject* config) {
  Statistics& statistics = runtime().statistics;
  ++statistics.frames;
  const bool fullgraph = asks_for_fullgraph(config);
  if (!known_types()) return nullptr;
  auto refuse = [&](BreakReason reason, std::string detail) -> std::shared_ptr<CacheEntry> {
    PyErr_Clear();
    report_uncaptured(code, config, Break{reason, std::move(detail)});
    if (fullgraph) raise_unsupported();
    return nullptr;
  };
  if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE))
    return refuse(BreakReason::Generator, "generator functions and coroutines run uncaptured");
  load_rules();  // which also looks for marks
  if (std::optional<KeptOut> rule = kept_out(view.function)) return refuse(rule->reason, std::move(rule->detail));

  Stopwatch watch;
  auto entry = std::make_shared<CacheEntry>();
  Tracer tracer(runtime().limits, entry->guards);
  Exit exit;
  const bool traced = trace(tracer, code, view, exit);
  const double tracing = watch.lap();
  statistics.propagate += tracer.propagate_seconds;
  statistics.evaluate += tracing - tracer.propagate_seconds;
  statistics.instructions += tracer.executed;
  if (!traced) {
    if (!tracer.broken()) return refuse(BreakReason::Internal, "the code object could not be read");
    report_uncaptured(code, config, tracer.why());
    if (fullgraph) raise_unsupported();
    return nullptr;
  }

  PyObject* globals = reinterpret_cast<PyFunctionObject*>(view.function)->func_globals;
  Ref compiled;
  if (exit.plan.calls_graph) {
    const std::string name = "__compiled_fn_" + std::to_string(runtime().compiled_functions++);
    exit.plan.compiled_name = name;
    Ref graph_module = to_graph_module(tracer.graph, exit.outputs, name);
    statistics.graph_export += watch.lap();
    if (!graph_module) return refuse(BreakReason::GraphExport, take_error_text());
    compiled = compile(exit, config, graph_module.get(), name);
    statistics.backend += watch.lap();
    if (!compiled) return nullptr;  // BackendCompilerFailed
    if (compiled.is(Py_None)) return refuse(BreakReason::BackendFailed, "the backend failed and errors are suppressed");
    Ref name_object = Ref::steal(PyUnicode_InternFromString(name.c_str()));
    if (PyDict_SetItem(globals, name_object.get(), compiled.get()) < 0) return nullptr;
    runtime().published.emplace_back(Ref::borrow(globals), name_object);
    entry->graph_module = std::move(graph_module);
    ++statistics.graphs;
    statistics.operators += static_cast<long>(tracer.graph.call_count());
  }
  watch.lap();
  entry->residual_function = residual_function(exit.plan, code, globals);
  if (!entry->residual_function) return refuse(BreakReason::Codegen, take_error_text());
  entry->source = to_source(exit.plan, code);
  entry->compiled = std::move(compiled);
  entry->graph_inputs = static_cast<uint32_t>(exit.inputs.size());
  entry->uses_live = false;
  for (const PlanStep& step : exit.plan.steps) entry->uses_live |= step.kind == PlanStep::Kind::Live;
  statistics.codegen += watch.lap();

  tracer.guards.finish();
  std::vector<PyObject*> slots(entry->guards.gathered());
  const bool holds = entry->guards.check(view, slots.data());
  statistics.guard_build += watch.lap();
  // A trace changes nothing, so what it learnt must hold right after it.
  if (!holds) return refuse(BreakReason::GuardsFail, entry->guards.explain_failure(view));
  statistics.guards += static_cast<long>(entry->guards.guard_count());
  ++statistics.captured;
  report_entry(code, config, *entry);
  return entry;
}

namespace {

// Runs an entry whose guards have just gathered `slots`.
Ref run_entry(const std::shared_ptr<CacheEntry>& entry, PyObject* const* slots) {
  auto pack = [&](uint32_t count) {
    Ref tuple = Ref::steal(PyTuple_New(count));
    for (uint32_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Ref::borrow(slots[i]).release());
    return tuple;
  };
  Ref inputs = pack(entry->graph_inputs);
  Ref live = entry->uses_live ? pack(entry->guards.gathered()) : Ref::none();
  PyObject* arguments[] = {nullptr, inputs.get(), live.get()};
  ModeScope nothing_else(kCaptureNothing);
  return Ref::steal(
      PyObject_Vectorcall(entry->residual_function.get(), arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

}  // namespace

ConfigId config_id(PyObject* config) {
  runtime().configs.insert(Ref::borrow(config));
  return reinterpret_cast<ConfigId>(config);
}

Ref run_cached(PyCodeObject* code, const FrameView& view, PyObject* config, bool& captured) {
  captured = false;
  CodeCache* cache = CodeCache::find(code);
  if (!cache) return nullptr;
  GatheredSlots slots;
  const LookupResult found = cache->lookup(reinterpret_cast<ConfigId>(config), view, slots);
  if (found.outcome != LookupResult::Outcome::Hit) return nullptr;
  captured = true;
  return run_entry(found.entry, found.slots);
}

Ref run_captured(PyCodeObject* code, const FrameView& view, PyObject* config, bool& captured) {
  captured = false;
  const ConfigId id = config_id(config);
  apply_settings(config);
  CodeCache* cache = CodeCache::get(code);
  if (!cache) return nullptr;
  GatheredSlots slots;
  LookupResult found = cache->lookup(id, view, slots);
  if (found.outcome == LookupResult::Outcome::Uncaptured) {
    report_skipped(code, config, *found.skip);
    return nullptr;
  }
  if (found.outcome == LookupResult::Outcome::Miss) {
    if (cache->entry_count(id)) report_recompile(code, config, *cache, view);
    std::shared_ptr<CacheEntry> entry = capture(code, view, config);
    if (!entry) return nullptr;
    entry->config = id;
    PyObject** room = slots.reserve(entry->guards.gathered());
    if (!entry->guards.check(view, room)) return nullptr;
    cache->add(entry);
    found.entry = std::move(entry);
    found.slots = room;
  }
  captured = true;
  return run_entry(found.entry, found.slots);
}

void reset_runtime() {
  Runtime& state = runtime();
  CacheRegistry::instance().reset();
  for (const auto& [globals, name] : std::exchange(state.published, {}))
    if (PyDict_DelItem(globals.get(), name.get()) < 0) PyErr_Clear();
  state.uncaptured.clear();
  state.configs.clear();
  state.limited.clear();
  state.statistics = {};
  state.compiled_functions = 0;
  if (!Tracer::any_running()) forget_prepared_codes();  // another thread's trace holds on to them
  clear_fake_memo();
}

}  // namespace minidynamo
