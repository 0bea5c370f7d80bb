// Calls. In order: bound methods are unpacked; a rule decides; Python functions are traced; classes are instantiated as
// type.__call__ does; methods of plain builtin types run natively; anything else ends the trace.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "model/native/native_call.h"
#include "model/native/reported_type.h"
#include "model/native/text_conventions.h"
#include "model/objects/function.h"
#include "model/objects/instantiate.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/descriptor.h"
#include "model/protocols/rule.h"
#include "model/protocols/upward.h"
#include "model/proxies/numpy_call.h"
#include "model/proxies/numpy_scalars.h"
#include "model/proxies/size_call.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/overridden_call.h"
#include "python/code/bound_method.h"
#include "python/interned.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "python/scoped_value.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "world/external/class_lookup.h"
#include "world/external/container_reads.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/address_text.h"
#include "world/native/native_code.h"
#include "world/proxies/fake_array.h"
#include "world/state/identity.h"

namespace minidynamo {
namespace {

// --- binding arguments to a Python function's parameters, as CPython does when it makes a frame
// --------------------------------

// --- classes
// ---------------------------------------------------------------------------------------------------------------------

// The arguments of a partial, with those of a call behind them or where it has placeholders. Null with a Python error.
Ref joined(PyObject* held, PyObject* given) {
  std::vector<Ref> all = items_of(held);
  const std::vector<Ref> rest = items_of(given);
  size_t next = 0;
  const auto wanted = std::ranges::count_if(all, [](const Ref& one) { return is_placeholder(one.get()); });
  if (static_cast<size_t>(wanted) > rest.size())
    return PyErr_Format(PyExc_TypeError,
                        "missing positional arguments in 'partial' call; expected at least %zd, got %zd",
                        static_cast<Py_ssize_t>(wanted), static_cast<Py_ssize_t>(rest.size())),
           nullptr;
  for (Ref& one : all)
    if (is_placeholder(one.get())) one = rest[next++];
  all.insert(all.end(), rest.begin() + static_cast<std::ptrdiff_t>(next), rest.end());
  return tuple_of(all);
}

// functools.partial: its parts are immutable and read by their sources.
Ref call_partial(Tracer& tracer, PyObject* partial, const Arguments& arguments) {
  Ref parts[3];
  Source* source = tracer.world.source_of(partial);
  const char* const names[] = {"func", "args", "keywords"};
  for (int i = 0; i < 3; ++i) {
    Ref name = Ref::made(PyUnicode_InternFromString(names[i]));
    Ref raw = Ref::steal(PyObject_GetAttr(partial, name.get()));
    if (!raw) return nullptr;
    parts[i] = source ? load_part(tracer, source, Access::Attribute, name.get(), raw.get()) : std::move(raw);
    if (!parts[i] || !materialize_if_shadow(tracer, parts[i].get())) return nullptr;
  }
  Ref given = arguments.positional();
  Ref positional = joined(parts[1].get(), given.get());
  Ref keywords = Ref::made(PyDict_Copy(parts[2].get()));
  Ref given_keywords = arguments.keywords();
  if (!positional || (given_keywords && PyDict_Update(keywords.get(), given_keywords.get()) < 0)) return nullptr;
  return call_with(tracer, parts[0].get(), positional.get(), keywords.get(), arguments.is_direct);
}

// method-wrapper -> the object it is bound to and the slot's descriptor.
bool unbind_slot(PyObject* wrapper, Ref& self, Ref& descriptor) {
  self = Ref::steal(PyObject_GetAttrString(wrapper, "__self__"));
  Ref owner = Ref::steal(PyObject_GetAttrString(wrapper, "__objclass__"));
  Ref name = Ref::steal(PyObject_GetAttrString(wrapper, "__name__"));
  if (!self || !owner || !name) return false;
  descriptor = Ref::borrow(PyDict_GetItemWithError(namespace_of(as_type(owner.get())), name.get()));
  return static_cast<bool>(descriptor);
}

// C functions without a rule: methods of plain builtin types, bound or not.
bool is_method_of_plain_type(PyObject* callable) noexcept {
  PyTypeObject* type = Py_TYPE(callable);
  if (PyCFunction_Check(callable)) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    if (!self || PyModule_Check(self)) return false;
    if (PyType_Check(self)) return is_plain_builtin_type(native_base(as_type(self)));
    return is_plain_builtin_type(Py_TYPE(self)) || is_plain_builtin_type(native_base(Py_TYPE(self))) ||
           type_stood_for(self);
  }
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type || type == &PyClassMethodDescr_Type)
    return is_plain_builtin_type(PyDescr_TYPE(callable)) ||
           reported_class(as_object(PyDescr_TYPE(callable))) != PyDescr_TYPE(callable);
  return false;
}

// The name of a module that has something to call by that name; null without an error: it has not.
Ref name_of_function_in(Tracer& tracer, PyObject* module) {
  Ref name = load_attribute(tracer, module, "__name__"_name);
  const Ref function =
      name && PyUnicode_CheckExact(name.get()) ? load_attribute(tracer, module, as_interned(name.get()).get()) : Ref();
  if (!function && !tracer.is_over()) clear_error();
  return function && PyCallable_Check(function.get()) ? name : Ref();
}

Ref is_not_callable(Tracer& tracer, PyObject* object) {
  const Ref shown = specialized(tracer, object);  // a symbolic int is an int to the program
  if (!shown) return nullptr;
  const Ref suggested =
      kCallOfModuleSuggests && PyModule_CheckExact(object) ? name_of_function_in(tracer, object) : Ref();
  if (tracer.is_over()) return nullptr;
  if (suggested)
    PyErr_Format(PyExc_TypeError, "'%.200s' object is not callable. Did you mean: '%U.%U(...)'?", shown.type()->tp_name,
                 suggested.get(), suggested.get());
  else
    PyErr_Format(PyExc_TypeError, "'%.200s' object is not callable", shown.type()->tp_name);
  return nullptr;
}

const char* method_name(PyObject* callable) noexcept {
  if (PyCFunction_Check(callable)) return as_builtin(callable)->m_ml->ml_name;
  const bool is_descriptor = Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyWrapperDescr_Type);
  return is_descriptor ? PyUnicode_AsUTF8(PyDescr_NAME(callable)) : nullptr;
}

// Methods of containers that look for an element or compare with another container.
bool compares_elements(PyObject* callable) noexcept {
  static constexpr std::string_view kNames[] = {"index",  "count",    "remove", "__contains__", "__eq__",
                                                "__ne__", "__lt__",   "__le__", "__gt__",       "__ge__",
                                                "sort",   "fromkeys", "update", "__hash__",     "isdisjoint"};
  const char* name = method_name(callable);
  return name && std::find(std::begin(kNames), std::end(kNames), std::string_view(name)) != std::end(kNames);
}

// True if C code is to copy a container from before the call with its attributes, which its shadow has not.
bool takes_all_of(Tracer& tracer, PyObject* self, PyObject* callable) noexcept {
  const ShadowContainer* shadow = tracer.world.shadow(self);
  if (!shadow) return false;
  const char* name = method_name(callable);
  const bool takes_all = name && (std::string_view(name).starts_with("__reduce") || std::string_view(name) == "copy" ||
                                  std::string_view(name) == "__getstate__" || std::string_view(name) == "__copy__");
  return takes_all && has_attributes(tracer, *shadow);
}

// Evaluates list.append, and list.extend by a list or tuple. Neither looks into the items. nullopt: it is another call.
std::optional<Ref> add_to_list(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const size_t own = PyCFunction_Check(callable) ? 0 : 1;
  PyObject* list =
      own ? arguments.values.empty() ? nullptr : arguments.values[0].get() : PyCFunction_GET_SELF(callable);
  const char* name = method_name(callable);
  if (!list || !PyList_Check(list) || !name || arguments.keyword_names || arguments.values.size() != own + 1)
    return std::nullopt;
  PyObject* given = arguments.values[own].get();
  std::optional<bool> done;
  if (std::string_view(name) == "append") done = append_to(tracer, list, given);
  if (std::string_view(name) == "extend") done = extend_by(tracer, list, given);
  if (!done) return std::nullopt;
  return *done ? Ref::none() : Ref();
}

// str.format and str.format_map.
bool formats_arguments(PyObject* callable) noexcept {
  const char* name = method_name(callable);
  return name && (std::string_view(name) == "format" || std::string_view(name) == "format_map");
}

}  // namespace

Ref call(Tracer& tracer, PyObject* given, const Arguments& given_arguments) {
  Arguments arguments = given_arguments;
  std::vector<Ref> specialized_arguments;
  bool specializes = tracer.symbols.specializes_reads;
  if (tracer.symbols.may_have_symbols())
    if (std::optional<Ref> result = call_with_sizes(tracer, given, arguments, specialized_arguments, specializes))
      return *result;
  const ScopedValue<bool> what_it_reads{tracer.symbols.specializes_reads, specializes};
  if (tracer.world.is_opaque(given)) return use_opaque(tracer, given), nullptr;
  if (any_fake_arrays() && is_of_numpy(given) && takes_fake_array(arguments))
    return call_with_arrays(tracer, given, arguments);
  if (makes_array_of_fake(given, arguments)) return make_array_of_fake(tracer, given, arguments);
  const Ref for_shadow = method_for_shadow(tracer, given, arguments);
  if (!for_shadow) return nullptr;
  PyObject* callable = for_shadow.get();
  if (Py_IS_TYPE(callable, &PyMethod_Type)) {
    Prepended with_self(Ref::borrow(PyMethod_GET_SELF(callable)), arguments);
    Ref function = Ref::borrow(PyMethod_GET_FUNCTION(callable));
    return call(tracer, function.get(), with_self.arguments);
  }
  if (is_bound_slot(callable)) {  // a bound slot: called as its descriptor, which rules know
    Ref self, descriptor;
    if (!unbind_slot(callable, self, descriptor)) return nullptr;
    Prepended with_self(self, arguments);
    return call(tracer, descriptor.get(), with_self.arguments);
  }
  if (const Rule* rule = find_rule(callable)) {
    if (Source* source = PyFunction_Check(callable) ? tracer.world.source_of(callable) : nullptr;
        source && source->access != Access::Pinned)
      tracer.guards.add(source, GuardKind::Identity, tracer.origin());  // the rule is this function's
    if (auto result = overridden_rule(tracer, *rule, callable, arguments)) return std::move(*result);
    PyObject* self = bound_self(callable);
    const bool has_handler = rule->kind == Rule::Kind::Handler || rule->kind == Rule::Kind::NumberHandler;
    if (has_handler && self && !PyModule_Check(self)) {  // handlers take the object as first argument
      Prepended with_self(Ref::borrow(self), arguments);
      return apply_rule(tracer, *rule, callable, with_self.arguments);
    }
    return apply_rule(tracer, *rule, callable, arguments);
  }
  if (PyErr_Occurred()) return nullptr;
  if (PyFunction_Check(callable)) return call_function(tracer, callable, arguments);
  if (callable == as_object(known_types()->device))  // the only class that asks modes
    if (auto result = overridden_call(tracer, NodeKind::CallFunction, callable, arguments)) return std::move(*result);
  if (PyType_Check(callable)) return call_class(tracer, as_type(callable), arguments);
  if (Py_IS_TYPE(callable, known_types()->partial)) return call_partial(tracer, callable, arguments);
  if (Py_IS_TYPE(callable, &PyStaticMethod_Type)) {
    Ref function = load_attribute(tracer, callable, "__func__"_name);
    return function ? call(tracer, function.get(), arguments) : Ref();
  }
  if (makes_array_to_fill(callable)) return call_with_arrays(tracer, callable, arguments);
  if (computes_with_numpy(callable, arguments)) {
    if (!expose_all(tracer, arguments.values)) return nullptr;
    return compute_with_scalars(tracer, [&] { return call_natively(tracer, callable, arguments); });
  }
  if (is_method_of_plain_type(callable)) {
    if (std::optional<Ref> added = add_to_list(tracer, callable, arguments)) return std::move(*added);
    PyObject* self = bound_self(callable);
    if (self && !prepare_for_native(tracer, self, SetOrder::Ignored)) return nullptr;
    if (!self && !arguments.values.empty()) self = arguments.values[0].get();
    if (self && !enter_functions_of_property(tracer, self)) return nullptr;
    if (!can_call_text_method(tracer, callable, self, arguments)) return nullptr;
    if (self && PyAnySet_Check(self))
      for (const Ref& value : arguments.values) guard_as_key(tracer, self, value.get());
    // A dict's methods take a key first, and then a value, which is not looked at.
    const size_t place_of_key = bound_self(callable) ? 0 : 1;
    if (self && PyDict_Check(self) && place_of_key < arguments.values.size())
      guard_as_key(tracer, self, arguments.values[place_of_key].get());
    if (self && takes_all_of(tracer, self, callable))
      return tracer.abort(BreakReason::Pickling, std::string("a ") + Py_TYPE(self)->tp_name +
                                                     " from before the call is copied with its attributes");
    if (self && PyUnicode_Check(self) && formats_arguments(callable))
      for (const Ref& value : arguments.values)
        if (!can_show(tracer, value.get())) return nullptr;
    if (compares_elements(callable) || (self && PyAnySet_Check(self))) {
      if (self) require_distinct(tracer, self);
      for (const Ref& value : arguments.values) require_distinct(tracer, value.get());
    }
    return call_natively(tracer, callable, arguments);
  }
  if (!is_static_class(Py_TYPE(callable))) {
    Ref method = lookup_in_class(tracer, Py_TYPE(callable), "__call__"_name);
    if (method && PyFunction_Check(method.get())) {
      Prepended with_self(Ref::borrow(callable), arguments);
      return call(tracer, method.get(), with_self.arguments);
    }
    if (method && Py_TYPE(method.get())->tp_descr_get && !Py_IS_TYPE(method.get(), &PyWrapperDescr_Type)) {
      Ref bound = load_attribute(tracer, callable, "__call__"_name);
      return bound ? call(tracer, bound.get(), arguments) : Ref();
    }
    if (PyErr_Occurred()) return nullptr;
  }
  if (!Py_TYPE(callable)->tp_call) return is_not_callable(tracer, callable);
  return tracer.abort(BreakReason::UnknownFunction, callable_name(callable) + " is not known to the tracer");
}

Ref call(Tracer& tracer, PyObject* callable, std::initializer_list<Ref> positional) {
  return call(tracer, callable, Arguments{std::span<const Ref>(positional.begin(), positional.size())});
}

Ref call_with(Tracer& tracer, PyObject* callable, PyObject* args, PyObject* kwargs, bool is_direct) {
  std::vector<Ref> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) values.push_back(Ref::borrow(PyTuple_GET_ITEM(args, i)));
  Ref names;
  if (kwargs && PyDict_GET_SIZE(kwargs)) {
    names = Ref::made(PyTuple_New(PyDict_GET_SIZE(kwargs)));
    Py_ssize_t position = 0, index = 0;
    PyObject *key, *value;
    while (PyDict_Next(kwargs, &position, &key, &value)) {
      if (!PyUnicode_Check(key)) {
        if (!Py_TYPE(callable)->tp_call) return is_not_callable(tracer, callable);
        if (!PyVectorcall_Function(callable))  // it gets the dict
          return tracer.abort(BreakReason::KeywordMerge, "keywords that are not strings are passed");
        PyErr_SetString(PyExc_TypeError, "keywords must be strings");
        return nullptr;
      }
      PyTuple_SET_ITEM(names.get(), index++, Ref::borrow(key).release());
      values.push_back(Ref::borrow(value));
    }
  }
  return call(tracer, callable, Arguments{values, names.get(), is_direct});
}

}  // namespace minidynamo
