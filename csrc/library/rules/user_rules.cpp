#include "library/rules/user_rules.h"

#include <fnmatch.h>

#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "library/rules/other_compilers.h"
#include "model/native/native_call.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/rule.h"
#include "model/protocols/upward.h"
#include "model/tensors/tensor_call.h"
#include "python/cached.h"
#include "python/code/bound_method.h"
#include "python/named_item.h"
#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/types.h"

namespace minidynamo {
namespace {

// The value of a mark that lies in the function's own __dict__ (borrowed); null if it is not there.
PyObject* mark_of(PyObject* function, PyObject* name) noexcept {
  PyObject* dict = as_function(function)->func_dict;
  if (!dict) return nullptr;
  PyObject* value = PyDict_GetItemWithError(dict, name);
  if (!value) clear_error();
  return value;
}

std::string qualified_name(PyObject* function) {
  std::string text;
  for (const char* attribute : {"__module__", "__qualname__"}) {
    Ref part = Ref::steal(PyObject_GetAttrString(function, attribute));
    const char* name = part && PyUnicode_Check(part.get()) ? PyUnicode_AsUTF8(part.get()) : nullptr;
    if (name) text += (text.empty() ? "" : ".") + std::string(name);
    clear_error();
  }
  return text.empty() ? Py_TYPE(function)->tp_name : text;
}

// --- rules by callable

struct RuleOfCallable {
  UserRule rule;
  Ref keeper;  // a weak reference to the callable, or the callable
  Ref substitute = nullptr;
};

struct CallableRules {
  std::unordered_map<const void*, RuleOfCallable> rules;
  // The functions that torch.compiler and torch._dynamo collect; null until torch._dynamo is there. Ids of functions,
  // as a set or a dict; a dict from functions to wrappers with the substitute as an attribute.
  Ref allowed_by_torch, disallowed_by_torch, substituted_by_torch;
};

CallableRules& callable_rules() {
  static auto* const instance = new CallableRules;  // holds references: not destroyed after the interpreter
  return *instance;
}

// Called when a function with a rule dies: its address may be another one's soon.
PyObject* forget_dead(PyObject*, PyObject* weak_reference) {
  std::erase_if(callable_rules().rules, [&](const auto& row) { return row.second.keeper.is(weak_reference); });
  return Ref::none().release();
}

Ref weak_reference(PyObject* callable) {
  PyObject* const callback = native_function<METH_O, forget_dead>("forget_dead");
  Ref reference = Ref::steal(PyWeakref_NewRef(callable, callback));
  clear_error();
  return reference;
}

// An opaque call: its node stays though its result is unused, since its side effects are unknown.
Ref call_in_graph(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  return record_opaque_call(tracer, callable, arguments);
}

// Fit to be handed to code that runs for real while tracing, and as a condition of an entry.
bool is_known_constant(Tracer& tracer, PyObject* object) {
  if (is_constant(object)) return true;
  Source* source = tracer.world.source_of(object);
  if (!source || is_fake(object) || tracer.world.shadow(object) || source->value.get() != object) return false;
  if (tracer.effects.has_writes(object)) return false;
  tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  return true;
}

Ref call_assumed_constant(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    if (!is_known_constant(tracer, arguments.values[i].get()))
      return tracer.abort(BreakReason::AssumedConstant, "argument " + std::to_string(i) + " of " +
                                                            qualified_name(callable) + " is a " +
                                                            arguments.values[i].type()->tp_name);
  }
  flush_operator_reports();
  Ref result;
  {
    TensorTraceSuspended suspended;
    NativeScope native;
    std::vector<PyObject*> values = vectorcall_values(arguments);
    result = Ref::steal(PyObject_Vectorcall(callable, values.data() + 1,
                                            arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                            arguments.keyword_names));
  }
  if (!result || tracer.is_over() || is_constant(result.get())) return result;
  return enter(tracer, tracer.guards.kept(result.get(), qualified_name(callable) + "()"));
}

// The substitute that torch.compiler.substitute_in_graph names for a function (borrowed), unless torch itself names it:
// torch's own functions are known here in other ways.
PyObject* substitute_by_torch(PyObject* callable) {
  PyObject* known = callable_rules().substituted_by_torch.get();
  if (!known || !PyDict_Check(known) || !(PyCFunction_Check(callable) || PyFunction_Check(callable))) return nullptr;
  PyObject* wrapper = PyDict_GetItemWithError(known, callable);
  PyObject* found = wrapper && PyFunction_Check(wrapper) ? mark_of(wrapper, "__torch_dynamo_polyfill__"_name) : nullptr;
  clear_error();
  if (!found || !PyFunction_Check(found)) return nullptr;
  PyObject* module = named_item(PyFunction_GET_GLOBALS(found), "__name__");
  const char* name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  return name && std::string_view(name).starts_with("torch.") ? nullptr : found;
}

Ref call_disallowed(Tracer& tracer, PyObject* callable, const Arguments&) {
  return tracer.abort(BreakReason::DisabledFunction, qualified_name(callable) + " is kept out with disallow_in_graph");
}

Ref call_substitute(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const auto& rules = callable_rules().rules;
  const auto found = rules.find(definition_of(callable));
  Ref substitute = found != rules.end() && found->second.substitute ? found->second.substitute
                                                                    : Ref::borrow(substitute_by_torch(callable));
  if (!substitute) return tracer.abort(BreakReason::Internal, "what is to stand for a function is gone");
  Ref known = enter(tracer, tracer.guards.kept(substitute.get(), qualified_name(substitute.get())));
  return known ? call(tracer, known.get(), arguments) : Ref();
}

const Rule* rule_of(UserRule rule) noexcept {
  static const Rule allowed{Rule::Kind::Handler, call_in_graph};
  static const Rule constant{Rule::Kind::Handler, call_assumed_constant};
  static const Rule disallowed{Rule::Kind::Handler, call_disallowed};
  static const Rule substituted{Rule::Kind::Handler, call_substitute};
  switch (rule) {
    case UserRule::AllowInGraph:
      return &allowed;
    case UserRule::AssumeConstant:
      return &constant;
    case UserRule::Disallow:
      return &disallowed;
    case UserRule::Substitute:
      return &substituted;
  }
  return nullptr;
}

bool has_id(PyObject* ids, PyObject* callable) {
  if (!ids || PyObject_Size(ids) <= 0) return false;
  Ref id = Ref::made(PyLong_FromVoidPtr(callable));
  const bool found = PySequence_Contains(ids, id.get()) == 1;
  clear_error();
  return found;
}

// --- code that is kept out

struct CodeRules {
  std::unordered_set<Ref> codes;  // functions with these are not captured themselves
  std::vector<SkipRule> files;
  // Verdicts by filename object; modules that were not imported yet are looked for again when more modules are.
  std::unordered_map<Ref, bool> verdicts;
  Py_ssize_t modules_seen = -1;
  uint64_t changes = 0;  // the files'
  Ref torch_wrapper;     // the code of what torch._compile._disable_dynamo returns
  // The code of functions of torch that, with all that they call, run uncaptured: nothing in them is worth a graph.
  std::unordered_set<Ref> apart;
};

CodeRules& code_rules() {
  static auto* const instance = new CodeRules;
  return *instance;
}

bool lies_below(std::string_view path, std::string_view directory) noexcept {
  while (directory.ends_with('/')) directory.remove_suffix(1);
  return path.starts_with(directory) && path.size() > directory.size() && path[directory.size()] == '/';
}

// The module's directories, if it is a package, or its file.
std::vector<std::string> places_of(const std::string& module_name) {
  std::vector<std::string> places;
  PyObject* module = named_item(PyImport_GetModuleDict(), module_name.c_str());
  if (!module || !PyModule_Check(module)) return places;
  auto add = [&](PyObject* text) {
    const char* place = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : nullptr;
    if (place) places.emplace_back(place);
  };
  // Not by attribute: a module's __getattr__ is code of the program.
  PyObject* namespace_dict = PyModule_GetDict(module);
  if (PyObject* path = named_item(namespace_dict, "__path__")) {
    Ref items = Ref::steal(PySequence_List(path));
    for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i) add(PyList_GET_ITEM(items.get(), i));
  } else {
    add(named_item(namespace_dict, "__file__"));
  }
  clear_error();
  return places;
}

bool matches(const SkipRule& rule, const std::string& path) {
  switch (rule.kind) {
    case SkipRule::Kind::Module:
      for (const std::string& place : places_of(rule.text))
        if (path == place || lies_below(path, place)) return true;
      return false;
    case SkipRule::Kind::Path:
      return path == rule.text || lies_below(path, rule.text);
    case SkipRule::Kind::Pattern:
      return fnmatch(rule.text.c_str(), path.c_str(), 0) == 0;
  }
  return false;
}

bool is_skipped_file(PyObject* filename) {
  const char* text = PyUnicode_AsUTF8(filename);
  if (!text) {
    clear_error();
    return false;
  }
  std::string path = text;
  std::error_code failed;
  if (!path.starts_with('<') && !path.starts_with('/'))
    if (const auto absolute = std::filesystem::absolute(path, failed); !failed)
      path = absolute.lexically_normal().string();
  NativeScope native;                                      // a namespace package's __path__ is Python code
  const std::vector<SkipRule> rules = code_rules().files;  // another thread may set others
  for (const SkipRule& rule : rules)
    if (matches(rule, path)) return true;
  return false;
}

// torch.compile and torch.compiler.disable make wrappers with marks, which functools.wraps copies to wrappers of the
// user's around them: an id says whose they are.
enum class TorchWrapper : uint8_t { None, Compiles, Disables };

TorchWrapper torch_wrapper(PyObject* function) {
  PyObject* owner = mark_of(function, "_torchdynamo_wrapper_id"_name);
  const bool is_own = owner && PyLong_Check(owner) && PyLong_AsVoidPtr(owner) == function;
  clear_error();
  if (mark_of(function, "_torchdynamo_disable"_name) == Py_True)
    return !owner || is_own ? TorchWrapper::Disables : TorchWrapper::None;
  return is_own ? TorchWrapper::Compiles : TorchWrapper::None;
}

// True for a function that torch itself wrapped so when it imported torch._dynamo: parts of its optimizers that
// TorchDynamo cannot trace.
bool is_part_of_optimizer(PyObject* function) {
  PyObject* original = mark_of(function, "_torchdynamo_orig_callable"_name);
  PyObject* reason = mark_of(function, "_torchdynamo_disable_msg"_name);
  if (!original || !PyFunction_Check(original) || !reason || !PyUnicode_Check(reason)) return false;
  PyObject* module = named_item(PyFunction_GET_GLOBALS(original), "__name__");
  const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr,
             *text = PyUnicode_AsUTF8(reason);
  clear_error();
  if (!name || !text || !std::string_view(name).starts_with("torch.optim.")) return false;
  return std::string_view(text).starts_with("optimizer <class ") ||
         std::string_view(text) == "don't trace into fused optimizer";
}

// torch._compile._disable_dynamo, around functions of torch itself, imports torch._dynamo at the first call.
bool is_disabled_inside_torch(PyObject* function) {
  return code_rules().torch_wrapper && code_rules().torch_wrapper.is(PyFunction_GET_CODE(function));
}

bool runs_apart(PyObject* function) {
  const auto& apart = code_rules().apart;
  return !apart.empty() && apart.count(Ref::borrow(PyFunction_GET_CODE(function)));
}

// Keeps out what DistributedDataParallel does around its module: it talks to C++ objects of its own.
void look_for_data_parallel() {
  PyObject* module = named_item(PyImport_GetModuleDict(), "torch.nn.parallel.distributed");
  PyObject* type = module ? named_item(PyModule_GetDict(module), "DistributedDataParallel") : nullptr;
  if (!type || !code_rules().apart.empty()) return;
  for (const char* name : {"_pre_forward", "_post_forward"}) {
    const Ref method = Ref::steal(PyObject_GetAttrString(type, name));
    if (method && PyFunction_Check(method.get()))
      code_rules().apart.insert(Ref::borrow(PyFunction_GET_CODE(method.get())));
  }
}

std::string disabled_detail(PyObject* function, const char* reason_mark) {
  Ref name = Ref::made(PyUnicode_InternFromString(reason_mark));
  PyObject* reason = mark_of(function, name.get());
  const char* text = reason && PyUnicode_Check(reason) ? PyUnicode_AsUTF8(reason) : nullptr;
  clear_error();
  return qualified_name(function) + " is disabled" + (text ? std::string(": ") + text : std::string());
}

}  // namespace

void add_user_rule(PyObject* callable, UserRule rule, Ref substitute) {
  Ref keeper = PyCFunction_Check(callable) ? Ref() : weak_reference(callable);
  if (!keeper) keeper = Ref::borrow(callable);
  callable_rules().rules[definition_of(callable)] = {rule, std::move(keeper), std::move(substitute)};
}

bool remove_user_rule(PyObject* callable) noexcept { return callable_rules().rules.erase(definition_of(callable)) > 0; }

const Rule* find_user_rule(PyObject* callable) {
  const CallableRules& known = callable_rules();
  if (!known.rules.empty())
    if (auto found = known.rules.find(definition_of(callable)); found != known.rules.end())
      return rule_of(found->second.rule);
  if (PyFunction_Check(callable) && mark_of(callable, "_dynamo_marked_constant"_name) == Py_True)
    return rule_of(UserRule::AssumeConstant);
  if (PyFunction_Check(callable)) {
    const TorchWrapper wrapper = torch_wrapper(callable);
    const bool is_left_out = wrapper == TorchWrapper::Disables && is_part_of_optimizer(callable);
    if (wrapper == TorchWrapper::Compiles || is_left_out) return rule_of_compiled();
  }
  if (!known.allowed_by_torch) return nullptr;  // torch._dynamo is not there
  if (has_id(known.allowed_by_torch.get(), callable)) return rule_of(UserRule::AllowInGraph);
  if (has_id(known.disallowed_by_torch.get(), callable)) return rule_of(UserRule::Disallow);
  return substitute_by_torch(callable) ? rule_of(UserRule::Substitute) : nullptr;
}

void look_for_torch_marks() {
  CallableRules& known = callable_rules();
  if (!known.allowed_by_torch) {
    PyObject* module = named_item(PyImport_GetModuleDict(), "torch._dynamo.trace_rules");
    PyObject* ids = module ? named_item(PyModule_GetDict(module), "_allowed_callable_ids") : nullptr;
    // Asked for, the set is made; later additions go to the same one.
    if (ids) known.allowed_by_torch = Ref::steal(PyObject_CallNoArgs(ids));
    ids = module ? named_item(PyModule_GetDict(module), "_disallowed_callable_ids") : nullptr;
    if (ids) known.disallowed_by_torch = Ref::steal(PyObject_CallNoArgs(ids));
    Ref handlers = ids ? import_object("torch._dynamo.variables.functions.PolyfilledFunctionVariable") : Ref();
    if (handlers)
      known.substituted_by_torch = Ref::steal(PyObject_CallMethod(handlers.get(), "_get_polyfill_handlers", nullptr));
  }
  if (!code_rules().torch_wrapper) {
    PyObject* module = named_item(PyImport_GetModuleDict(), "torch._compile");
    PyObject* disable = module ? named_item(PyModule_GetDict(module), "_disable_dynamo") : nullptr;
    if (disable && PyFunction_Check(disable)) {
      PyObject* consts = as_code(PyFunction_GET_CODE(disable))->co_consts;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(consts); ++i)
        if (PyCode_Check(PyTuple_GET_ITEM(consts, i)))
          code_rules().torch_wrapper = Ref::borrow(PyTuple_GET_ITEM(consts, i));
    }
  }
  look_for_data_parallel();
  clear_error();
}

void keep_code_out(PyCodeObject* code) { code_rules().codes.insert(Ref::borrow(as_object(code))); }

bool unskip(PyCodeObject* code) noexcept { return code_rules().codes.erase(Ref::borrow(as_object(code))) > 0; }

void set_skip_rules(std::vector<SkipRule> rules) {
  code_rules().files = std::move(rules);
  ++code_rules().changes;
  code_rules().verdicts.clear();
}

bool is_skipped_code(PyCodeObject* code) {
  CodeRules& known = code_rules();
  if (known.files.empty()) return false;
  constexpr size_t kMostVerdicts = 10'000;  // code made from text brings a filename object of its own each time
  const Py_ssize_t modules = PyDict_GET_SIZE(PyImport_GetModuleDict());
  if (std::exchange(known.modules_seen, modules) != modules || known.verdicts.size() > kMostVerdicts)
    known.verdicts.clear();
  Ref filename = Ref::borrow(code->co_filename);
  if (auto found = known.verdicts.find(filename); found != known.verdicts.end()) return found->second;
  const uint64_t rules = known.changes;
  const bool skipped = is_skipped_file(filename.get());
  if (rules == known.changes) known.verdicts.emplace(std::move(filename), skipped);
  return skipped;
}

PyObject* behind_torch_wrapper(PyObject* callable) noexcept {
  return PyFunction_Check(callable) && is_disabled_inside_torch(callable) ? mark_of(callable, "__wrapped__"_name)
                                                                          : nullptr;
}

std::optional<SkipReason> skip_reason(PyObject* function) {
  const CodeRules& known = code_rules();
  auto* code = as_code(PyFunction_GET_CODE(function));
  if (!known.codes.empty() && known.codes.count(Ref::borrow(as_object(code))))
    return SkipReason{BreakReason::DisabledFunction, disabled_detail(function, "_minidynamo_disable_reason")};
  if (runs_apart(function))
    return SkipReason{BreakReason::DisabledFunction, qualified_name(function) + " talks to the reducer of gradients"};
  const TorchWrapper wrapper = torch_wrapper(function);
  if (wrapper == TorchWrapper::Compiles)
    return SkipReason{BreakReason::TorchCompile, qualified_name(function) + " is compiled by torch.compile"};
  if (wrapper == TorchWrapper::Disables || is_disabled_inside_torch(function))
    return SkipReason{BreakReason::DisabledFunction, disabled_detail(function, "_torchdynamo_disable_msg")};
  if (is_skipped_code(code)) {
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    clear_error();
    return SkipReason{BreakReason::SkippedFile, qualified_name(function) + " lies in " + (file ? file : "?")};
  }
  return std::nullopt;
}

bool runs_disabled(PyObject* function) {
  if (runs_apart(function)) return true;
  const TorchWrapper wrapper = torch_wrapper(function);
  return wrapper == TorchWrapper::Compiles ||
         (wrapper == TorchWrapper::Disables && mark_of(function, "_torchdynamo_disable_recursive"_name) == Py_True);
}

}  // namespace minidynamo
