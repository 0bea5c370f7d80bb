// Resolving the table: every path becomes an address, the callable's own or that of its C method definition (so that a
// method is found bound or not). What a program imports later is looked up when the number of modules has changed.
#include "trace/rules.h"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "python/bound_method.h"
#include "trace/abstract_classes.h"
#include "trace/attributes.h"
#include "trace/context_variables.h"
#include "trace/generic_alias.h"
#include "trace/known_types.h"
#include "trace/library.h"
#include "trace/mapping_proxy.h"
#include "trace/operations.h"
#include "trace/pickling.h"
#include "trace/special.h"
#include "trace/tensor_calls.h"
#include "trace/tensor_names.h"
#include "trace/user_rules.h"

namespace minidynamo {
namespace {

struct RuleLine {
  Rule rule;
  std::string_view path;
};

Rule make_rule(Rule::Kind kind) { return Rule{kind}; }
Rule make_rule(Rule::Kind kind, BreakReason reason, const char* detail) { return Rule{kind, nullptr, reason, detail}; }
Rule make_rule(Rule::Kind kind, Rule::Handler handler) { return Rule{kind, handler}; }

const std::vector<RuleLine>& rule_lines() {
  using namespace special;
  static const std::vector<RuleLine> lines = {
#define RULE(kind, path, ...) {make_rule(Rule::Kind::kind __VA_OPT__(, ) __VA_ARGS__), path},
#include "trace/rules.def"
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

  void resolve() {
    // Looking at modules may run their Python code, which is none of the trace's business.
    std::optional<Tracer::Native> native;
    if (Tracer* tracer = Tracer::current()) native.emplace(*tracer);
    modules_seen_ = PyDict_GET_SIZE(PyImport_GetModuleDict());
    look_for_torch_marks();
    for (const bool wildcards : {true, false})  // single names after, so that they win
      for (const RuleLine& line : rule_lines())
        if (line.path.ends_with(".*") == wildcards && !resolved_.count(&line)) resolve(line);
    PyErr_Clear();
  }

  void resolve(const RuleLine& line) {
    std::string_view path = line.path;
    const bool wildcard = path.ends_with(".*");
    if (wildcard) path.remove_suffix(2);
    Ref object = find_imported(path);
    if (!object) return;
    resolved_.insert(&line);
    if (!wildcard) {
      add(object.get(), line);
      return;
    }
    // Of a class what it defines itself, of anything else what it has.
    Ref names = PyType_Check(object.get())
                    ? Ref::steal(PyDict_Keys(reinterpret_cast<PyTypeObject*>(object.get())->tp_dict))
                    : Ref::steal(PyObject_Dir(object.get()));
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(names.get()); ++i) {
      Ref member = Ref::steal(PyObject_GetAttr(object.get(), PyList_GET_ITEM(names.get(), i)));
      PyErr_Clear();
      if (!member) continue;
      const bool is_c = PyCFunction_Check(member.get()) || Py_IS_TYPE(member.get(), &PyMethodDescr_Type) ||
                        Py_IS_TYPE(member.get(), &PyWrapperDescr_Type);
      // A namespace's Python functions are meant only where the rule is about Python functions.
      const bool is_python = PyFunction_Check(member.get()) &&
                             (line.rule.kind == Rule::Kind::Leaf || line.rule.kind == Rule::Kind::TensorMethod);
      if (is_c || is_python) add(member.get(), line);
    }
    PyErr_Clear();
  }

  void add(PyObject* object, const RuleLine& line) {
    rules_[definition_of(object)] = &line.rule;
    kept_.push_back(Ref::borrow(object));
  }

  // Like import_object, but never imports.
  static Ref find_imported(std::string_view path) {
    PyObject* modules = PyImport_GetModuleDict();
    for (size_t end = path.size(); end != std::string_view::npos && end > 0; end = path.rfind('.', end - 1)) {
      Ref object = Ref::borrow(PyDict_GetItemString(modules, std::string(path.substr(0, end)).c_str()));
      if (!object) continue;
      for (size_t start = end; object && start < path.size();) {
        const size_t stop = std::min(path.find('.', start + 1), path.size());
        const std::string name(path.substr(start + 1, stop - start - 1));
        // A module's __getattr__ may import what the program never asked for.
        object = PyModule_Check(object.get())
                     ? Ref::borrow(PyDict_GetItemString(PyModule_GetDict(object.get()), name.c_str()))
                     : Ref::steal(PyObject_GetAttrString(object.get(), name.c_str()));
        start = stop;
      }
      PyErr_Clear();
      return object;
    }
    return nullptr;
  }
};

PyTypeObject* lru_cache_type() {
  static auto* const type = reinterpret_cast<PyTypeObject*>(import_object("functools._lru_cache_wrapper").release());
  return type;
}

std::unordered_set<PyTypeObject*>& wrapper_types() {
  static auto* const types = new std::unordered_set<PyTypeObject*>{lru_cache_type()};
  return *types;
}

// Callables known by their type rather than by name.
const Rule* rule_for_type(PyTypeObject* type) {
  static const Rule tensor_function{Rule::Kind::TensorFunction}, inline_wrapped{Rule::Kind::Inline},
      tensor_data{Rule::Kind::TensorData}, pure{Rule::Kind::Pure};
  static const Rule attribute_getter{Rule::Kind::Special, special::attribute_getter_call};
  static PyTypeObject* const attribute_getter_type =
      reinterpret_cast<PyTypeObject*>(import_object("operator.attrgetter").release());
  static const Rule method_caller{Rule::Kind::Special, special::method_caller_call};
  static PyTypeObject* const method_caller_type =
      reinterpret_cast<PyTypeObject*>(import_object("operator.methodcaller").release());
  static PyTypeObject* const item_getter =
      reinterpret_cast<PyTypeObject*>(import_object("operator.itemgetter").release());
  const KnownTypes* known = known_types();
  if (type == known->op_overload || type == known->op_overload_packet || type == known->custom_op_def)
    return &tensor_function;
  if (type == known->tensor_type) return &tensor_data;
  if (type == item_getter) return &pure;
  if (type == method_caller_type) return &method_caller;
  static const Rule generic_alias{Rule::Kind::Special, special::generic_alias_call};
  static const Rule reference{Rule::Kind::Special, special::reference_call};
  static PyTypeObject* const scanner = reinterpret_cast<PyTypeObject*>(import_object("_json.make_scanner").release());
  static PyTypeObject* const encoder = reinterpret_cast<PyTypeObject*>(import_object("_json.make_encoder").release());
  if (type == &Py_GenericAliasType) return &generic_alias;
  if (type == &_PyWeakref_RefType) return &reference;
  if (type == scanner || type == encoder) return &pure;
  if (type == attribute_getter_type) return &attribute_getter;
  if (wrapper_types().count(type)) return &inline_wrapped;
  return nullptr;
}

}  // namespace

void load_rules() {
  find_rule(Py_None);
  is_plain_builtin_type(&PyList_Type);
}

const Rule* find_rule(PyObject* callable) {
  static RuleTable* const table = new RuleTable;  // holds references: not destroyed after the interpreter
  const Rule* rule = table->find(callable);
  if (const Rule* user_rule = find_user_rule(callable)) return user_rule;
  if (rule) return rule;
  return rule_for_type(Py_TYPE(callable));
}

namespace {

// typing's caches of types made of types: what they hold can be told from what they would make by identity alone.
bool is_typing_cache(PyObject* callable) {
  Ref module = Ref::steal(PyObject_GetAttrString(callable, "__module__"));
  PyErr_Clear();
  return module && PyUnicode_Check(module.get()) && !PyUnicode_CompareWithASCIIString(module.get(), "typing");
}

bool holds_made_class(const Tracer& tracer, PyObject* object) {
  if (!tracer.classes.any()) return false;
  if (tracer.classes.has(object)) return true;
  if (PyTuple_Check(object))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (holds_made_class(tracer, PyTuple_GET_ITEM(object, i))) return true;
  return false;
}

// Whether an object was there before the trace, or is a constant.
bool is_of_the_world(Tracer& tracer, PyObject* object) {
  if (is_constant(object) || tracer.outside.source_of(object)) return true;
  if (PyType_Check(object)) return !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object), Py_TPFLAGS_HEAPTYPE);
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (!is_of_the_world(tracer, PyTuple_GET_ITEM(object, i))) return false;
  return true;
}

// What native code looks into must be the very object at the next call too.
void pin_down(Tracer& tracer, PyObject* object) {
  if (is_constant(object)) return;
  Source* source = tracer.outside.source_of(object);
  if (source && source->access != Access::Pinned) tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  if (!PyTuple_CheckExact(object)) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) pin_down(tracer, PyTuple_GET_ITEM(object, i));
}

}  // namespace

void trace_through_wrapped(PyTypeObject* type) { wrapper_types().insert(type); }

Ref apply_rule(Tracer& tracer, const Rule& rule, PyObject* callable, const Arguments& arguments) {
  switch (rule.kind) {
    case Rule::Kind::Pure:
      for (const Ref& value : arguments.values) {
        guard_special_methods(tracer, value.get(),
                              {"__iter__", "__len__", "__lt__", "__eq__", "__index__", "__float__"});
        if (tracer.broken()) return nullptr;
      }
      return call_natively(tracer, callable, arguments);
    case Rule::Kind::Operator:
      if (has_fake(arguments)) return record_call(tracer, NodeKind::CallFunction, callable, arguments);
      for (const Ref& value : arguments.values) tell_apart(tracer, value.get());
      return call_natively(tracer, callable, arguments);
    case Rule::Kind::TensorFunction:
    case Rule::Kind::Leaf:
      return record_call(tracer, NodeKind::CallFunction, callable, arguments);
    case Rule::Kind::TensorMethod: {
      static PyObject* const name_name = interned("__name__");
      Ref own_name = Ref::steal(PyObject_GetAttr(callable, name_name));
      if (!own_name || !is_made_of_operators(own_name.get()))
        return tracer.give_up(BreakReason::TensorAttribute,
                              std::string("what a tensor's ") +
                                  (own_name ? PyUnicode_AsUTF8(own_name.get()) : "method") + "() does is not known");
      if (arguments.positional_count() && is_fake(arguments.values[0].get()) && !PyCFunction_Check(callable)) {
        Ref name = Ref::steal(PyObject_GetAttrString(callable, "__name__"));
        return record_call(tracer, NodeKind::CallMethod, name.get(), arguments);
      }
      if (PyObject* self = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
          self && is_fake(self)) {
        std::vector<Ref> values = {Ref::borrow(self)};
        values.insert(values.end(), arguments.values.begin(), arguments.values.end());
        Ref name = Ref::steal(PyObject_GetAttrString(callable, "__name__"));
        return record_call(tracer, NodeKind::CallMethod, name.get(), Arguments{values, arguments.keyword_names});
      }
      return record_call(tracer, NodeKind::CallFunction, callable, arguments);
    }
    case Rule::Kind::TensorData:
      return record_constant_tensor(tracer, callable, arguments);
    case Rule::Kind::TorchState:
      return record_state_change(tracer, callable, arguments);
    case Rule::Kind::Inline: {
      if (is_typing_cache(callable)) {
        for (const Ref& value : arguments.values)
          if (holds_made_class(tracer, value.get()))
            return tracer.give_up(BreakReason::ClassDefinition,
                                  "a class of the function's own goes into a cache of typing");
        for (const Ref& value : arguments.values)
          if (!is_of_the_world(tracer, value.get()))
            return tracer.give_up(BreakReason::CachedEffect,
                                  "an object that the call made goes into a cache of typing");
        for (const Ref& value : arguments.values) pin_down(tracer, value.get());
        Tracer::Native native(tracer);
        Ref cached = call_natively(tracer, callable, arguments);
        if (cached && !is_constant(cached.get()) && !tracer.outside.source_of(cached.get())) {
          tracer.outside.source_or_pin(tracer, cached.get());
          tracer.outside.came_from_cache(cached.get(), callable, arguments.positional(), arguments.keywords());
        }
        return cached;
      }
      static PyObject* const wrapped_name = interned("__wrapped__");
      Ref wrapped = load_attribute(tracer, callable, wrapped_name);
      if (!wrapped) return nullptr;
      if (tracer.outside.source_of(callable)) tracer.outside.source_or_pin(tracer, wrapped.get());
      const size_t written = tracer.outside.count_changes();
      // Behind a break inside, the cache would not see what the function returned: it is called as one.
      const bool is_cache = Py_IS_TYPE(callable, lru_cache_type());
      Ref result = call(tracer, wrapped.get(),
                        Arguments{arguments.values, arguments.keyword_names, arguments.is_direct && !is_cache});
      if (!result || !tracer.outside.source_of(callable)) return result;
      if (tracer.outside.count_changes() != written)
        return tracer.give_up(BreakReason::CachedEffect, "a cached function changes what it did not make");
      if (!is_cache || has_fake(arguments)) return result;
      if (!is_constant(result.get()) && !is_guarded_by_identity(result.get()))
        return tracer.give_up(BreakReason::CachedEffect, "a cached function gives an object that its cache keeps");
      // The cache is asked when the residual code runs: it counts, and remembers.
      tracer.outside.call_later(callable, arguments.positional(), arguments.keywords());
      return result;
    }
    case Rule::Kind::Special:
      return rule.handler(tracer, callable, arguments);
    case Rule::Kind::Refuse:
      return tracer.give_up(rule.reason, rule.detail);
  }
  return nullptr;
}

bool is_plain_builtin_type(PyTypeObject* type) noexcept {
  static const std::unordered_set<PyTypeObject*> types = [] {
    std::unordered_set<PyTypeObject*> plain = {
        &PyUnicode_Type,    &PyBytes_Type,      &PyByteArray_Type,   &PyLong_Type,         &PyBool_Type,
        &PyFloat_Type,      &PyComplex_Type,    &PyTuple_Type,       &PyList_Type,         &PyDict_Type,
        &PySet_Type,        &PyFrozenSet_Type,  &PyRange_Type,       &PySlice_Type,        &PyEnum_Type,
        &PyZip_Type,        &PyMap_Type,        &PyFilter_Type,      &PyReversed_Type,     &PyDictKeys_Type,
        &PyDictValues_Type, &PyDictItems_Type,  &PyDictProxy_Type,   &PySeqIter_Type,      &PyCallIter_Type,
        &PyProperty_Type,   &PyMemoryView_Type, Py_TYPE(Py_None),    Py_TYPE(Py_Ellipsis), Py_TYPE(Py_NotImplemented),
        &PyCell_Type,       &PyMethod_Type,     &PyClassMethod_Type, &PyStaticMethod_Type};
    for (const char* path : {"collections.OrderedDict",
                             "collections.deque",
                             "collections.defaultdict",
                             "re.Pattern",
                             "re.Match",
                             "itertools.chain",
                             "itertools.accumulate",
                             "itertools.islice",
                             "itertools.product",
                             "itertools.repeat",
                             "itertools.count",
                             "itertools.cycle",
                             "itertools.starmap",
                             "itertools.takewhile",
                             "itertools.dropwhile",
                             "itertools.zip_longest",
                             "itertools.pairwise",
                             "itertools.groupby",
                             "itertools.combinations",
                             "itertools.combinations_with_replacement",
                             "itertools.permutations",
                             "itertools.compress",
                             "itertools.filterfalse",
                             "functools.partial",
                             "types.GenericAlias",
                             "types.UnionType",
                             "types.SimpleNamespace",
                             "torch.Size",
                             "torch.device",
                             "torch.dtype",
                             "torch.finfo",
                             "torch.iinfo",
                             "operator.itemgetter",
                             "operator.attrgetter",
                             "operator.methodcaller",
                             "_struct.Struct"}) {
      Ref type_object = import_object(path);
      if (type_object) plain.insert(reinterpret_cast<PyTypeObject*>(type_object.release()));
      PyErr_Clear();
    }
    for (PyObject* example : {PyList_New(0), PyDict_New(), PySet_New(nullptr), PyTuple_New(0),
                              PyUnicode_FromString("ab"), PyUnicode_FromString("\u00e9"), PyBytes_FromString("ab"),
                              PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "i", 1)}) {
      Ref container = Ref::steal(example);
      Ref iterator = Ref::steal(PyObject_GetIter(container.get()));
      plain.insert(iterator.type());
    }
    Ref dict = Ref::steal(PyDict_New());
    Ref empty_list = Ref::steal(PyList_New(0));
    Ref backwards = Ref::steal(PyObject_CallMethod(empty_list.get(), "__reversed__", nullptr));
    plain.insert(backwards.type());
    for (const char* view : {"values", "items"}) {
      Ref items = Ref::steal(PyObject_CallMethod(dict.get(), view, nullptr));
      Ref iterator = Ref::steal(PyObject_GetIter(items.get()));
      plain.insert(iterator.type());
    }
    return plain;
  }();
  const bool is_exception = PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
  return types.count(type) > 0 || (is_exception && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE));
}

}  // namespace minidynamo
