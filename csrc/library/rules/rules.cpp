// Resolving the table: every path becomes an address, the callable's own or that of its C method definition (so that a
// method is found bound or not). What a program imports later is looked up when the number of modules has changed.
#include "library/rules/rules.h"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "guard/constants.h"
#include "library/python/abc.h"
#include "library/python/builtins.h"
#include "library/python/frame_readers.h"
#include "library/python/functools.h"
#include "library/python/operator.h"
#include "library/python/standard_library.h"
#include "library/rules/handlers.h"
#include "library/rules/other_compilers.h"
#include "library/rules/user_rules.h"
#include "library/torch/break_errors.h"
#include "library/training/recomputation.h"
#include "library/training/tensor_hooks.h"
#include "model/native/native_call.h"
#include "model/objects/function.h"
#include "model/protocols/arguments.h"
#include "model/protocols/rule.h"
#include "model/protocols/upward.h"
#include "model/tensors/tensor_call.h"
#include "model/tensors/tensor_data.h"
#include "model/tensors/tensor_names.h"
#include "python/code/bound_method.h"
#include "python/named_item.h"
#include "python/objects/lru_cache.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/native/outer_handled_exception.h"
#include "world/state/identity.h"

namespace minidynamo {
namespace {

struct RuleLine {
  Rule rule;
  std::string_view path;
};

Rule make_rule(Rule::Kind kind) { return Rule{kind}; }
Rule make_rule(Rule::Kind kind, BreakReason reason, const char* detail) { return Rule{kind, nullptr, reason, detail}; }
Rule make_rule(Rule::Kind kind, FrameUse use, int sees_nothing_from, const char* detail,
               Rule::Handler handler = nullptr) {
  return Rule{kind, handler, BreakReason::FrameIntrospection, detail, use, sees_nothing_from};
}
Rule make_rule(Rule::Kind kind, Rule::Handler handler) { return Rule{kind, handler}; }

const std::vector<RuleLine>& rule_lines() {
  using namespace handlers;
  static const std::vector<RuleLine> lines = {
#define RULE(kind, path, ...) {make_rule(Rule::Kind::kind __VA_OPT__(, ) __VA_ARGS__), path},
#include "library/rules/rules.def"
#undef RULE
  };
  return lines;
}

// Objects whose address is a key are kept for good: they are functions of modules.
class RuleTable {
 public:
  const Rule* find(PyObject* callable) {
    if (PyDict_GET_SIZE(PyImport_GetModuleDict()) != modules_seen_) resolve();
    auto found = rules_.find(definition_of(callable));
    return found == rules_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<const void*, const Rule*> rules_;
  std::unordered_set<const RuleLine*> resolved_;
  std::vector<Ref> kept_;
  Py_ssize_t modules_seen_ = -1;

  struct Found {
    const RuleLine* line;
    std::vector<Ref> objects;
  };

  // Looks first and enters what it found in one go: looking may run Python code, so that a second thread may come in
  // the middle. It looks too, and finds the same.
  void resolve() {
    std::vector<Found> found;
    const MemoryWatch memory;
    const Py_ssize_t modules = PyDict_GET_SIZE(PyImport_GetModuleDict());
    {
      NativeScope native;  // looking at modules may run their Python code, which is no part of the traced program
      look_for_torch_marks();
      for (const bool wildcards : {true, false})  // single names after, so that they win
        for (const RuleLine& line : rule_lines())
          if (line.path.ends_with(".*") == wildcards && !resolved_.count(&line)) look_for(line, found);
      clear_error();
    }
    if (memory.failed()) throw_out_of_memory();
    for (Found& row : found) {
      if (resolved_.count(row.line)) continue;  // another thread was faster
      for (Ref& object : row.objects) {
        rules_[definition_of(object.get())] = &row.line->rule;
        kept_.push_back(std::move(object));
      }
      resolved_.insert(row.line);
    }
    modules_seen_ = modules;
  }

  static void look_for(const RuleLine& line, std::vector<Found>& found) {
    std::string_view path = line.path;
    const bool wildcard = path.ends_with(".*");
    if (wildcard) path.remove_suffix(2);
    Ref object = find_imported(path);
    if (!object) return;
    Found row{&line, {}};
    if (!wildcard) {
      row.objects.push_back(std::move(object));
      found.push_back(std::move(row));
      return;
    }
    // A class contributes the names that it defines itself, anything else those that it has.
    Ref names = PyType_Check(object.get()) ? Ref::steal(PyDict_Keys(namespace_of(as_type(object.get()))))
                                           : Ref::steal(PyObject_Dir(object.get()));
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(names.get()); ++i) {
      Ref member = Ref::steal(PyObject_GetAttr(object.get(), PyList_GET_ITEM(names.get(), i)));
      clear_error();
      if (!member) continue;
      const bool is_c = PyCFunction_Check(member.get()) || Py_IS_TYPE(member.get(), &PyMethodDescr_Type) ||
                        Py_IS_TYPE(member.get(), &PyWrapperDescr_Type);
      // A namespace's Python functions are meant only where the rule is about Python functions.
      const bool is_python = PyFunction_Check(member.get()) &&
                             (line.rule.kind == Rule::Kind::Leaf || line.rule.kind == Rule::Kind::TensorMethod);
      if (is_c || is_python) row.objects.push_back(std::move(member));
    }
    clear_error();
    found.push_back(std::move(row));
  }

  // Like import_object, but never imports.
  static Ref find_imported(std::string_view path) {
    PyObject* modules = PyImport_GetModuleDict();
    for (size_t end = path.size(); end != std::string_view::npos && end > 0; end = path.rfind('.', end - 1)) {
      Ref object = Ref::borrow(named_item(modules, std::string(path.substr(0, end)).c_str()));
      if (!object) continue;
      for (size_t start = end; object && start < path.size();) {
        const size_t stop = std::min(path.find('.', start + 1), path.size());
        const std::string name(path.substr(start + 1, stop - start - 1));
        // A module's __getattr__ may import what the program never asked for.
        object = PyModule_Check(object.get()) ? Ref::borrow(named_item(PyModule_GetDict(object.get()), name.c_str()))
                                              : Ref::steal(PyObject_GetAttrString(object.get(), name.c_str()));
        start = stop;
      }
      clear_error();
      return object;
    }
    return nullptr;
  }
};

std::unordered_set<PyTypeObject*>& wrapper_types() {
  static constinit Cached<std::unordered_set<PyTypeObject*>> types;
  return *types.get(
      [] { return std::make_unique<std::unordered_set<PyTypeObject*>>(std::initializer_list{lru_cache_type()}); });
}

// Callables known by their type rather than by name.
const Rule* rule_for_type(PyTypeObject* type) {
  static const Rule tensor_function{Rule::Kind::TensorFunction}, inline_wrapped{Rule::Kind::Inline},
      tensor_data{Rule::Kind::TensorData}, pure{Rule::Kind::Pure};
  static const Rule attribute_getter{Rule::Kind::Handler, handlers::attribute_getter_call};
  static constinit ImportedType attribute_getter_type{"operator.attrgetter"};
  static const Rule method_caller{Rule::Kind::Handler, handlers::method_caller_call};
  static constinit ImportedType method_caller_type{"operator.methodcaller"};
  static constinit ImportedType item_getter{"operator.itemgetter"};
  const KnownTypes* known = known_types();
  if (type == known->op_overload || type == known->op_overload_packet || type == known->custom_op_def)
    return &tensor_function;
  if (type == known->tensor_type) return &tensor_data;
  if (type == item_getter) return &pure;
  if (type == method_caller_type) return &method_caller;
  static const Rule generic_alias{Rule::Kind::Handler, handlers::generic_alias_call};
  static const Rule reference{Rule::Kind::Handler, handlers::reference_call};
  static constinit ImportedType scanner{"_json.make_scanner"};
  static constinit ImportedType encoder{"_json.make_encoder"};
  if (type == &Py_GenericAliasType) return &generic_alias;
  if (type == &_PyWeakref_RefType) return &reference;
  if (type == scanner || type == encoder) return &pure;
  if (type == attribute_getter_type) return &attribute_getter;
  if (wrapper_types().count(type)) return type == lru_cache_type() ? &inline_wrapped : rule_of_wrapper();
  if (const Rule* script = rule_of_script(type)) return script;
  return nullptr;
}

// True for the function by which torch.export learns of constructors of tensor subclasses, and which does nothing else.
bool makes_subclass(PyObject* function) {
  if (!PyFunction_Check(function)) return false;
  return !PyUnicode_CompareWithASCIIString(as_code(PyFunction_GET_CODE(function))->co_qualname,
                                           "mark_subclass_constructor_exportable_experimental.<locals>.wrapper");
}

}  // namespace

void load_rules() {
  find_rule(Py_None);
  load_types();
}

const Rule* find_rule(PyObject* callable) {
  static RuleTable* const table = new RuleTable;  // holds references: not destroyed after the interpreter
  const Rule* rule = table->find(callable);
  const bool is_break = rule && rule->kind == Rule::Kind::Refuse && rule->reason == BreakReason::ExplicitBreak;
  if (is_break || (rule && rule->handler == handlers::torch_graph_break)) return rule;
  if (const Rule* user_rule = find_user_rule(callable)) return user_rule;
  if (rule) return rule;
  if (PyObject* original = behind_torch_wrapper(callable)) {
    static const Rule inside{Rule::Kind::Handler, handlers::trace_wrapped};
    const Rule* of_original = table->find(original);
    return !of_original && makes_subclass(original) ? &inside : of_original;
  }
  return PyFunction_Check(callable) ? nullptr : rule_for_type(Py_TYPE(callable));
}

namespace {

// sys.getrecursionlimit; torch.get_autocast_dtype, 'xpu'
std::string state_name(PyObject* callable, PyObject* arguments) {
  std::string text;
  for (const char* attribute : {"__module__", "__name__"}) {
    Ref part = Ref::steal(PyObject_GetAttrString(callable, attribute));
    const char* name = part && PyUnicode_Check(part.get()) ? PyUnicode_AsUTF8(part.get()) : nullptr;
    if (name) text += (text.empty() ? "" : ".") + std::string(name);
    clear_error();
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    Ref shown = Ref::steal(PyObject_Repr(PyTuple_GET_ITEM(arguments, i)));
    const char* argument = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
    text += std::string(", ") + (argument ? argument : "?");
  }
  return text;
}

// A call that tells a state of the process.
Ref read_state(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!PyCFunction_Check(callable))
    return tracer.abort(BreakReason::UnknownFunction, "a state of the process is read by Python code");
  Ref given = arguments.positional();
  bool is_plain = !arguments.keyword_names;
  for (const Ref& argument : arguments.values) is_plain &= is_constant(argument.get());
  if (!is_plain)
    return tracer.abort(BreakReason::UnknownFunction, "a state of the process is asked for with an object");
  Ref state = call_natively(tracer, callable, arguments);
  if (!state || tracer.is_over() || tracer.modes.has_set(callable, given.get())) return state;
  if (!is_constant(state.get()) && !is_constant_container(state.get()))
    return tracer.abort(BreakReason::UnknownFunction, "a state of the process is an object");
  Ref asked = Ref::borrow(callable);
  if (PyTuple_GET_SIZE(given.get())) {
    Ref all = Ref::made(PyTuple_Pack(1, callable));
    all = Ref::steal(PySequence_Concat(all.get(), given.get()));
    asked = Ref::steal(PyObject_CallObject(as_object(known_types()->partial), all.get()));
  }
  if (!asked) return nullptr;
  guard_state(tracer, asked.get(), state_name(callable, given.get()), state.get());
  return state;
}

}  // namespace

namespace handlers {

// sys.exc_info() and sys.exception(): where nothing is handled, that is so because nothing was when the call began.
Ref handled_exception(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const Ref handled = Ref::steal(PyErr_GetHandledException());
  if (!handled || handled.is(Py_None)) return read_state(tracer, callable, arguments);
  if (was_handled_before(handled.get()))
    return tracer.abort(BreakReason::FrameIntrospection, "the exception is asked for that the caller handles");
  return call_natively(tracer, callable, arguments);
}

}  // namespace handlers

void trace_through_wrapped(PyTypeObject* type) { wrapper_types().insert(type); }

Ref apply_rule(Tracer& tracer, const Rule& rule, PyObject* callable, const Arguments& arguments) {
  switch (rule.kind) {
    case Rule::Kind::State:
      return read_state(tracer, callable, arguments);
    case Rule::Kind::Pure:
    case Rule::Kind::TorchRead:
    case Rule::Kind::Machine:
      return call_natively(tracer, callable, arguments);
    case Rule::Kind::Compares:
      if (!expose_all(tracer, arguments.values, SetOrder::Ignored)) return nullptr;
      for (const Ref& value : arguments.values) require_distinct(tracer, value.get());
      return call_natively(tracer, callable, arguments);
    case Rule::Kind::Operator:
      return call_operator(tracer, callable, arguments);
    case Rule::Kind::Leaf:
      // A function with objects of its own among its arguments (a distance as a module, options) is traced into.
      if (PyFunction_Check(callable) && !can_stand_in_graph(arguments))
        return call_function(tracer, callable, arguments);
      return record_call(tracer, NodeKind::CallFunction, callable, arguments);
    case Rule::Kind::TensorFunction:
      return record_call(tracer, NodeKind::CallFunction, callable, arguments);
    case Rule::Kind::TensorMethod: {
      Ref own_name = Ref::steal(PyObject_GetAttr(callable, "__name__"_name));
      if (!own_name || !is_made_of_operators(own_name.get()))
        return tracer.abort(BreakReason::TensorAttribute, std::string("what a tensor's ") +
                                                              (own_name ? PyUnicode_AsUTF8(own_name.get()) : "method") +
                                                              "() does is not known");
      if (arguments.positional_count() && is_fake(arguments.values[0].get()) && !PyCFunction_Check(callable)) {
        Ref name = Ref::made(PyObject_GetAttrString(callable, "__name__"));
        return record_call(tracer, NodeKind::CallMethod, name.get(), arguments);
      }
      if (PyObject* self = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
          self && is_fake(self)) {
        std::vector<Ref> values = {Ref::borrow(self)};
        values.insert(values.end(), arguments.values.begin(), arguments.values.end());
        Ref name = Ref::made(PyObject_GetAttrString(callable, "__name__"));
        return record_call(tracer, NodeKind::CallMethod, name.get(), Arguments{values, arguments.keyword_names});
      }
      return record_call(tracer, NodeKind::CallFunction, callable, arguments);
    }
    case Rule::Kind::TensorData:
      return record_tensor_of_data(tracer, callable, arguments);
    case Rule::Kind::TorchState:
      return record_state_change(tracer, callable, arguments);
    case Rule::Kind::Inline:
      return call_cached_function(tracer, callable, arguments);
    case Rule::Kind::Handler:
    case Rule::Kind::NumberHandler:
      return rule.handler(tracer, callable, arguments);
    case Rule::Kind::OwnFrame: {
      const FrameUse use = frame_use(callable, static_cast<Py_ssize_t>(arguments.positional_count()));
      if (use != FrameUse::None) forbid_split(tracer, use);
      return rule.handler ? rule.handler(tracer, callable, arguments) : tracer.abort(rule.reason, rule.detail);
    }
    case Rule::Kind::Refuse:
      return tracer.abort(rule.reason, rule.detail);
  }
  return nullptr;
}

}  // namespace minidynamo
