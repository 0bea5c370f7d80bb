// minidynamo._C: the only file that names Python-facing API of the native part.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bytecode/instruction.h"
#include "cache/code_cache.h"
#include "emit/resume.h"
#include "guard/mirror.h"
#include "hook/capture/capture_history.h"
#include "hook/capture/capture_region.h"
#include "hook/capture/report.h"
#include "hook/intercept/frame_hook.h"
#include "hook/intercept/hook_chain.h"
#include "hook/intercept/hook_installed.h"
#include "hook/intercept/stance.h"
#include "hook/intercept/torch_compile.h"
#include "hook/run/optimized_function.h"
#include "hook/run/piecewise_callable.h"
#include "hook/run/state_aside.h"
#include "hook/runtime.h"
#include "library/rules/user_rules.h"
#include "library/torch/break_errors.h"
#include "python/process/out_of_memory.h"
#include "python/process/thread_exit.h"
#include "tensor/autograd/differentiable_call.h"
#include "tensor/process/loaded_torch.h"
#include "tensor/process/random_watch.h"
#include "tensor/symbolic/size_node_methods.h"
#include "tensor/tensor_bindings.h"
#include "world/external/types.h"

namespace py = pybind11;
using namespace minidynamo;

namespace {

py::object take(Ref ref) {
  if (!ref) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(ref.release());
}

// A compiled graph and its backward, by the calling convention in minidynamo/_artifacts/runtime.py.
py::object differentiable(const py::object& forward, const py::object& backward, const py::object& backward_with_graph,
                          const py::dict& plan) {
  auto held = [](const py::object& object) { return Ref::borrow(object.ptr()); };
  auto positions = [&](const char* name) { return plan[name].cast<std::vector<size_t>>(); };
  DifferentiablePlan made;
  made.forward = held(forward), made.backward = held(backward), made.backward_with_graph = held(backward_with_graph);
  made.values = plan["values"].cast<size_t>(), made.saved = plan["saved"].cast<size_t>();
  made.unchecked = plan["unchecked"].cast<size_t>(), made.numbers = plan["numbers"].cast<size_t>();
  made.detached = positions("detached"), made.counted = positions("counted"), made.hidden = positions("hidden");
  made.not_differentiable = positions("not_differentiable"), made.unsafe_views = positions("unsafe_views");
  made.donated = positions("donated"), made.is_deterministic = plan["is_deterministic"].cast<bool>();
  for (const py::handle& row : plan["tangents"]) {
    const auto [position, memory_format, size, stride] =
        row.cast<std::tuple<size_t, py::object, std::vector<int64_t>, std::vector<int64_t>>>();
    made.tangents.push_back({position, held(memory_format), size, stride});
  }
  return take(differentiable_callable(std::move(made)));
}

PyCodeObject* code_of(const py::handle& object) {
  if (!PyCode_Check(object.ptr())) throw py::type_error("expected a code object");
  return as_code(object.ptr());
}

py::dict statistics() {
  const Statistics& now = runtime().statistics;
  py::dict breaks, phases, result;
  const std::map<std::string, long> counts = runtime().break_counts;  // a copy: another thread may add some below
  for (const auto& [reason, count] : counts) breaks[py::str(reason)] = count;
  for (size_t i = 0; i < kPhaseNames.size(); ++i) phases[kPhaseNames[i]] = now.seconds[i];
  result["frames"] = now.frames;
  result["captured"] = now.captured;
  result["graphs"] = now.graphs;
  result["graph_breaks"] = breaks;
  result["guards"] = now.guards;
  result["entries"] = CacheRegistry::instance().live_entries();
  result["cache_hits"] = CacheRegistry::instance().statistics.hits;
  result["operators"] = now.operators;
  result["instructions"] = now.instructions;
  result["phases"] = phases;
  return result;
}

py::list uncaptured() {
  const std::deque<Uncaptured> known = runtime().uncaptured;  // a copy: another thread may add some below
  py::list records;
  for (const Uncaptured& record : known) records.append(take(to_dict(record)));
  return records;
}

py::list captures() {
  const std::deque<CaptureRecord> known = runtime().captures;
  py::list records;
  for (const CaptureRecord& record : known) records.append(take(to_dict(record)));
  return records;
}

// How often calls of a function met no entry.
py::dict calls(const py::object& code) {
  const CodeCache* cache = CodeCache::find(code_of(code));
  const CodeCache::Calls known = cache ? cache->calls : CodeCache::Calls();
  py::dict counted;
  counted["captured"] = known.captured;
  counted["uncaptured"] = known.uncaptured;
  counted["of_former_entries"] = known.of_former_entries;
  return counted;
}

py::list reasons() {
  py::list rows;
  for (const BreakReasonRow& reason : break_reasons()) {
    py::dict row;
    row["code"] = reason.code;
    row["explanation"] = reason.explanation;
    row["hints"] = py::str(reason.hints).attr("split")("; ");
    rows.append(row);
  }
  return rows;
}

py::list known_c_types() {
  load_types();
  py::list rows;
  for (const TypeFacts& facts : all_types()) {
    py::dict row;
    row["type"] = py::reinterpret_borrow<py::object>(as_object(facts.type));
    row["is_family"] = facts.is_family;
    row["enters"] = facts.enters;
    row["known"] = facts.known;
    row["leaves"] = facts.leaves;
    row["over_it"] = facts.over_it;
    rows.append(row);
  }
  return rows;
}

void replace_skip_rules(const std::vector<std::pair<std::string, std::string>>& rules) {
  std::vector<SkipRule> found;
  for (const auto& [kind, text] : rules)
    found.push_back({kind == "module" ? SkipRule::Kind::Module
                     : kind == "path" ? SkipRule::Kind::Path
                                      : SkipRule::Kind::Pattern,
                     text});
  set_skip_rules(std::move(found));
}

py::object call_cached_only(const py::object& function, const py::tuple& args, const py::dict& kwargs) {
  CachedOnly no_captures;
  return take(Ref::steal(PyObject_Call(function.ptr(), args.ptr(), kwargs.ptr())));
}

py::object call_disabled(const py::object& function, const py::tuple& args, const py::dict& kwargs) {
  ThreadMode mode;
  mode.disabled = true;
  ModeScope disabled(mode);
  return take(Ref::steal(PyObject_Call(function.ptr(), args.ptr(), kwargs.ptr())));
}

}  // namespace

PYBIND11_MODULE(_C, module) {
  module.doc() = "The native part of minidynamo: frame hook, tracer, guards, code generation.";
  if (const std::string part = differs_from_headers(); !part.empty())
    throw py::import_error("minidynamo was built for a torch of which " + part +
                           " is not as in the one that is installed: install minidynamo anew.");
  stop_threads_at_exit();
  bind_tensor(module.ptr());
  add_size_node_class(module.ptr());
  hook_chain().set_ours(our_frame_hook());
  find_torch_compile();
  if (py::object torch = py::module_::import("torch"); py::hasattr(torch, "OutOfMemoryError"))
    is_also_out_of_memory(torch.attr("OutOfMemoryError").ptr());
  PyTypeObject* optimized = optimized_function_type();
  if (!optimized) throw py::error_already_set();
  module.add_object("OptimizedFunction", py::reinterpret_borrow<py::object>(as_object(optimized)));

  py::class_<CacheEntry, std::shared_ptr<CacheEntry>>(module, "CacheEntry")
      .def_property_readonly("guards", [](const CacheEntry& entry) { return entry.guards.to_text(); })
      .def_property_readonly("code",
                             [](const CacheEntry& entry) {
                               auto* code = as_object(entry.residual_function.code());
                               return py::reinterpret_borrow<py::object>(code);
                             })
      .def_property_readonly("graph_module",
                             [](const CacheEntry& entry) -> py::object {
                               if (!entry.graph_module) return py::none();
                               return py::reinterpret_borrow<py::object>(entry.graph_module.get());
                             })
      .def("belongs_to",
           [](const CacheEntry& entry, const py::object& config) {
             return entry.config == reinterpret_cast<ConfigId>(config.ptr());
           })
      .def_readonly("hits", &CacheEntry::hits)
      .def_readonly("guard_seconds", &CacheEntry::guard_seconds)
      .def_property_readonly("id", [](const CacheEntry& entry) { return entry.id.text(); })
      .def_readonly("source", &CacheEntry::source);

  py::class_<StateAside>(module, "StateAside")
      .def(py::init([](const py::object& config) { return std::make_unique<StateAside>(config.ptr()); }))
      .def("end", &StateAside::end);

  module.def("reset", &reset_runtime);
  module.def("statistics", &statistics);
  module.def("uncaptured", &uncaptured);
  module.def("captures", &captures);
  module.def("calls", &calls);
  module.def("open_capture_id", &open_capture_id);
  module.def("note_imports", &note_imports);
  module.def("function_id", [](const py::object& code) { return function_id(code_of(code)); });
  module.def("break_reasons", &reasons);
  module.def("c_types", &known_c_types);
  module.def("cache_entries", [](const py::object& code) {
    CodeCache* cache = CodeCache::find(code_of(code));
    return cache ? cache->entries() : std::vector<std::shared_ptr<CacheEntry>>();
  });
  module.def("capture_again",
             [](const py::object& graph_module) { CacheRegistry::instance().capture_again(graph_module.ptr()); });
  module.def("resume_codes", [](const py::object& code) {
    py::list codes;
    for (Ref& resume : resume_codes(code_of(code))) codes.append(take(std::move(resume)));
    return codes;
  });
  module.def("start_global_capture", [](const py::object& config) { set_global_capture(config.ptr()); });
  module.def("stop_global_capture", [] { set_global_capture(nullptr); });
  module.def("hook_owner", &hook_owner);
  module.def("set_stress", [](bool on, long break_every, unsigned long seed) {
    runtime().stress = {on, break_every, seed};
  });
  module.def("set_mirror", [](bool on, bool aborts) {
    mirror_mode = !on ? Mirror::Off : aborts ? Mirror::Abort : Mirror::Record;
  });
  module.def("take_mirror_differences", &take_mirror_differences);
  module.def("is_tracing", [] { return Tracer::current() != nullptr; });
  module.def("call_disabled", &call_disabled);
  module.def("piecewise_callable", [](const py::tuple& steps, const py::tuple& results, Py_ssize_t inputs) {
    return take(piecewise_callable(steps.ptr(), results.ptr(), inputs));
  });
  module.def("differentiable_callable", &differentiable);
  module.def("watch_random", [] { return take(watch_random()); });
  module.def("end_random_watch", [](const py::handle& watch) { return take(end_random_watch(watch.ptr())); });
  module.def("call_cached_only", &call_cached_only);
  py::class_<CaptureRegion>(module, "CaptureRegion")
      .def(py::init([](const py::object& config) { return std::make_unique<CaptureRegion>(config.ptr()); }))
      .def("leave", &CaptureRegion::leave);
  module.add_object("error_on_graph_break", py::reinterpret_borrow<py::object>(break_errors_getter()));
  module.add_object("set_error_on_graph_break", py::reinterpret_borrow<py::object>(break_errors_setter()));
  module.def("disallow_in_graph",
             [](const py::object& callable) { add_user_rule(callable.ptr(), UserRule::Disallow); });
  module.def("substitute_in_graph", [](const py::object& callable, const py::object& substitute) {
    add_user_rule(callable.ptr(), UserRule::Substitute, Ref::borrow(substitute.ptr()));
  });
  module.def("allow_in_graph",
             [](const py::object& callable) { add_user_rule(callable.ptr(), UserRule::AllowInGraph); });
  module.def("assume_constant_result",
             [](const py::object& callable) { add_user_rule(callable.ptr(), UserRule::AssumeConstant); });
  module.def("remove_rule", [](const py::object& callable) { return remove_user_rule(callable.ptr()); });
  module.def("keep_code_out", [](const py::object& code) { keep_code_out(code_of(code)); });
  module.def("unskip", [](const py::object& code) { return unskip(code_of(code)); });
  module.def("set_skip_rules", &replace_skip_rules);
  module.def("bytecode_text", [](const py::object& code) { return to_text(decode(code_of(code))); });
  module.def("bytecode_round_trip", [](const py::object& code) { return take(assemble(decode(code_of(code)))); });
}
