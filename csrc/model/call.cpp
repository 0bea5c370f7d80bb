// Calls. In order: bound methods are unpacked; a rule decides; Python functions are traced; classes are instantiated as
// type.__call__ does; methods of plain builtin types run natively; anything else ends the trace.
#include "model/call.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "library/numpy.h"
#include "library/rules.h"
#include "library/user_rules.h"
#include "model/attribute.h"
#include "model/exception_text.h"
#include "model/generator.h"
#include "model/native_callback.h"
#include "model/operator.h"
#include "model/reported_type.h"
#include "model/tensor_call.h"
#include "python/code_object.h"
#include "python/dict_version.h"
#include "python/native_contents.h"
#include "python/numpy_scalar.h"
#include "python/out_of_memory.h"
#include "python/type_version.h"
#include "trace/class_statement.h"
#include "trace/interpreter.h"
#include "trace/object_end.h"
#include "world/known_types.h"
#include "world/special_methods.h"

namespace minidynamo {
namespace {

// Values with `first` put before them.
struct Prepended {
  std::vector<Ref> values;
  Arguments arguments;
  Prepended(Ref first, const Arguments& rest) {
    values.reserve(rest.values.size() + 1);
    values.push_back(std::move(first));
    values.insert(values.end(), rest.values.begin(), rest.values.end());
    arguments = Arguments{values, rest.keyword_names, rest.is_direct};
  }
};

std::string callable_name(PyObject* callable) {
  for (const char* attribute : {"__qualname__", "__name__"}) {
    Ref name = Ref::steal(PyObject_GetAttrString(callable, attribute));
    if (name && PyUnicode_Check(name.get())) {
      Ref module = Ref::steal(PyObject_GetAttrString(callable, "__module__"));
      clear_error();
      std::string prefix =
          module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) + std::string(".") : "";
      return prefix + PyUnicode_AsUTF8(name.get());
    }
    clear_error();
  }
  return Py_TYPE(callable)->tp_name;
}

// --- binding arguments to a Python function's parameters, as CPython does when it makes a frame
// --------------------------------

Ref default_value(Tracer& tracer, PyFunctionObject* function, int32_t index) {
  PyObject* raw = PyTuple_GET_ITEM(function->func_defaults, index);
  Source* source = tracer.outside.source_of(reinterpret_cast<PyObject*>(function));
  if (!source) return Ref::borrow(raw);
  static PyObject* const name = interned("__defaults__");
  Source* defaults = tracer.guards.child(source, Access::Attribute, name, -1, function->func_defaults);
  return tracer.outside.enter(tracer, tracer.guards.child(defaults, Access::Index, nullptr, index, raw));
}

Ref keyword_default(Tracer& tracer, PyFunctionObject* function, PyObject* parameter) {
  PyObject* raw = function->func_kwdefaults ? PyDict_GetItemWithError(function->func_kwdefaults, parameter) : nullptr;
  if (!raw) return nullptr;
  Source* source = tracer.outside.source_of(reinterpret_cast<PyObject*>(function));
  if (!source) return Ref::borrow(raw);
  static PyObject* const name = interned("__kwdefaults__");
  Source* defaults = tracer.guards.child(source, Access::Attribute, name, -1, function->func_kwdefaults);
  return tracer.outside.enter(tracer, tracer.guards.child(defaults, Access::DictItem, parameter, -1, raw));
}

// A function keeps its identity when its __code__ is replaced.
void guard_code(Tracer& tracer, PyObject* function) {
  Source* source = tracer.outside.source_of(function);
  if (!source) return;
  static PyObject* const name = interned("__code__");
  tracer.guards.add(tracer.guards.child(source, Access::Attribute, name, -1, PyFunction_GET_CODE(function)),
                    GuardKind::Identity, tracer.origin());
  if (is_guarded_by_identity(function)) return;
  static PyObject* const globals_name = interned("__globals__");
  PyObject* globals = PyFunction_GET_GLOBALS(function);
  Source* names = tracer.guards.child(source, Access::Attribute, globals_name, -1, globals);
  tracer.guards.add(names, GuardKind::Names, tracer.origin());
  tracer.outside.know_namespace(globals, names);
}

enum class Bound : uint8_t { Yes, WrongArguments, Failed };

Bound bind_arguments(Tracer& tracer, PyFunctionObject* function, const Arguments& arguments, Frame& frame) {
  PyCodeObject* code = frame.code();
  const int32_t positional = code->co_argcount, keyword_only = code->co_kwonlyargcount,
                named = positional + keyword_only;
  const auto given = static_cast<int32_t>(arguments.positional_count());
  int32_t next = named;
  const int32_t rest_slot = (code->co_flags & CO_VARARGS) ? next++ : -1;
  const int32_t keywords_slot = (code->co_flags & CO_VARKEYWORDS) ? next++ : -1;

  if (given > positional && rest_slot < 0) return Bound::WrongArguments;
  for (int32_t i = 0; i < std::min(given, positional); ++i) frame.local(i) = arguments.values[i];
  if (rest_slot >= 0) {
    Ref rest = Ref::made(PyTuple_New(std::max(0, given - positional)));
    for (int32_t i = positional; i < given; ++i) {
      if (!tracer.outside.fill_if_stand_in(tracer, arguments.values[i].get())) return Bound::Failed;
      PyTuple_SET_ITEM(rest.get(), i - positional, Ref(arguments.values[i]).release());
    }
    frame.local(rest_slot) = std::move(rest);
  }
  if (keywords_slot >= 0) frame.local(keywords_slot) = Ref::made(PyDict_New());
  PyObject* names = frame.prepared->bytecode.localsplus_names.get();
  for (size_t k = 0; k < arguments.keyword_count(); ++k) {
    PyObject* keyword = PyTuple_GET_ITEM(arguments.keyword_names, k);
    const Ref& value = arguments.values[given + k];
    int32_t slot = -1;
    for (int32_t i = code->co_posonlyargcount; i < named && slot < 0; ++i)
      if (PyTuple_GET_ITEM(names, i) == keyword) slot = i;
    for (int32_t i = code->co_posonlyargcount; i < named && slot < 0; ++i)
      if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), keyword) == 0) slot = i;
    if (slot >= 0) {
      if (frame.local(slot)) return Bound::WrongArguments;
      frame.local(slot) = value;
    } else if (keywords_slot >= 0) {
      if (!tracer.outside.fill_if_stand_in(tracer, value.get())) return Bound::Failed;
      if (PyDict_SetItem(frame.local(keywords_slot).get(), keyword, value.get()) < 0) return Bound::Failed;
    } else {
      return Bound::WrongArguments;
    }
  }
  const auto defaults = static_cast<int32_t>(function->func_defaults ? PyTuple_GET_SIZE(function->func_defaults) : 0);
  for (int32_t i = given; i < positional; ++i) {
    if (frame.local(i)) continue;
    if (i < positional - defaults) return Bound::WrongArguments;
    frame.local(i) = default_value(tracer, function, i - (positional - defaults));
    if (!frame.local(i)) return Bound::Failed;
  }
  for (int32_t i = positional; i < named; ++i) {
    if (frame.local(i)) continue;
    frame.local(i) = keyword_default(tracer, function, PyTuple_GET_ITEM(names, i));
    if (!frame.local(i)) return PyErr_Occurred() ? Bound::Failed : Bound::WrongArguments;
  }
  return Bound::Yes;
}

// --- classes
// ---------------------------------------------------------------------------------------------------------------------

// super() without arguments: the class from the __class__ cell and the first parameter of the calling frame.
Ref zero_argument_super(Tracer& tracer) {
  Frame& frame = *tracer.frame;
  PyObject* names = frame.prepared->bytecode.localsplus_names.get();
  if (frame.code()->co_argcount == 0) {
    PyErr_SetString(PyExc_RuntimeError, "super(): no arguments");
    return nullptr;
  }
  for (int32_t i = frame.prepared->locals_count - PyCode_GetNumFree(frame.code()); i < frame.prepared->locals_count;
       ++i) {
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "__class__")) {
      if (!frame.local(i)) frame.local(i) = touch_local(tracer, frame, i);
      Ref type = load_cell(tracer, frame.local(i).get());
      if (tracer.broken()) return nullptr;
      if (!frame.local(0)) frame.local(0) = touch_local(tracer, frame, 0);
      Ref self = frame.local(0);
      if (self && PyCell_Check(self.get()) && (frame.prepared->bytecode.localsplus_kinds[0] & kFastCell))
        self = load_cell(tracer, self.get());
      if (tracer.broken()) return nullptr;
      if (!self || !type) {
        PyErr_SetString(PyExc_RuntimeError, self ? "super(): empty __class__ cell" : "super(): arg[0] deleted");
        return nullptr;
      }
      if (!PyType_Check(type.get())) {
        PyErr_Format(PyExc_RuntimeError, "super(): __class__ is not a type (%s)", type.type()->tp_name);
        return nullptr;
      }
      return Ref::steal(
          PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type), type.get(), self.get(), nullptr));
    }
  }
  PyErr_SetString(PyExc_RuntimeError, "super(): __class__ cell not found");
  return nullptr;
}

bool is_safe_native_base(PyTypeObject* base) noexcept {
  return base == &PyBaseObject_Type || is_plain_builtin_type(base) || base == known_types()->thread_local_storage;
}

Ref call_class(Tracer& tracer, PyTypeObject* type, const Arguments& arguments) {
  if (type == &PyType_Type && arguments.values.size() == 1 && !arguments.keyword_names)
    return Ref::borrow(reinterpret_cast<PyObject*>(visible_type(arguments.values[0].get())));
  if (type == &PySuper_Type && arguments.values.empty()) return zero_argument_super(tracer);
  if (type == &PyType_Type) return instantiate(tracer, type, arguments);
  if (is_python_class(type) || type == known_types()->thread_local_storage) {
    static PyObject* const call_name = interned("__call__");
    PyTypeObject* meta = Py_TYPE(type);
    if (meta != &PyType_Type) {
      Ref override = lookup_in_class(tracer, meta, call_name);
      if (!override) return nullptr;
      if (PyFunction_Check(override.get())) {
        Prepended with_type(Ref::borrow(reinterpret_cast<PyObject*>(type)), arguments);
        return call(tracer, override.get(), with_type.arguments);
      }
      if (!override.type()->tp_descr_get) return call(tracer, override.get(), arguments);  // a TypedDict's is dict
      if (!Py_IS_TYPE(override.get(), &PyWrapperDescr_Type))
        return tracer.give_up(BreakReason::UnknownClass, std::string("a metaclass makes a ") + type->tp_name +
                                                             " by a " + override.type()->tp_name);
    }
    return instantiate(tracer, type, arguments);
  }
  if (is_numpy_scalar_type(type) && are_scalars(arguments, false))
    return compute_with_scalars(tracer,
                                [&] { return call_natively(tracer, reinterpret_cast<PyObject*>(type), arguments); });
  if (type == &PyBaseObject_Type) return call_natively(tracer, reinterpret_cast<PyObject*>(type), arguments);
  if (is_plain_builtin_type(type) || type == &PySuper_Type) {
    const bool iterates = type == &PyList_Type || type == &PyTuple_Type || type == &PyEnum_Type ||
                          type == &PyZip_Type || type == &PySet_Type || type == &PyReversed_Type;
    std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
    for (Ref& value : values) {
      if (!is_fake(value.get())) continue;
      if (iterates) {
        Ref iterator = iterator_of(tracer, value.get());
        if (!iterator) return nullptr;
        value = type == &PyReversed_Type ? Ref::steal(PySequence_List(iterator.get())) : std::move(iterator);
      } else if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyUnicode_Type ||
                 type == &PyComplex_Type) {
        return tracer.give_up(BreakReason::ScalarRead, std::string(type->tp_name) + "() of a tensor");
      }
    }
    if (type == &PyUnicode_Type && values.size() == 1 && !arguments.keyword_names &&
        is_exception_from_outside(tracer, values[0].get()))
      return text_of_exception(tracer, values[0].get(), "__str__");
    if (type == &PyUnicode_Type && values.size() == 1 && !may_become_text(tracer, values[0].get())) return nullptr;
    if (type == &PySet_Type || type == &PyFrozenSet_Type || PyType_IsSubtype(type, &PyDict_Type) ||
        !std::strcmp(type->tp_name, "itertools.groupby"))
      for (const Ref& value : values) tell_apart(tracer, value.get());
    return call_natively(tracer, reinterpret_cast<PyObject*>(type), Arguments{values, arguments.keyword_names});
  }
  return tracer.give_up(BreakReason::UnknownClass, std::string("an instance of ") + type->tp_name + " is made");
}

// functools.partial: its parts are immutable and read by their sources.
Ref call_partial(Tracer& tracer, PyObject* partial, const Arguments& arguments) {
  Ref parts[3];
  Source* source = tracer.outside.source_of(partial);
  const char* const names[] = {"func", "args", "keywords"};
  for (int i = 0; i < 3; ++i) {
    Ref name = Ref::made(PyUnicode_InternFromString(names[i]));
    Ref raw = Ref::steal(PyObject_GetAttr(partial, name.get()));
    if (!raw) return nullptr;
    parts[i] =
        source ? tracer.outside.enter(tracer, tracer.guards.child(source, Access::Attribute, name.get(), -1, raw.get()))
               : std::move(raw);
    if (!parts[i] || !tracer.outside.fill_if_stand_in(tracer, parts[i].get())) return nullptr;
  }
  Ref given = arguments.positional();
  Ref positional = Ref::steal(PySequence_Concat(parts[1].get(), given.get()));
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
  descriptor = Ref::borrow(PyDict_GetItemWithError(reinterpret_cast<PyTypeObject*>(owner.get())->tp_dict, name.get()));
  return static_cast<bool>(descriptor);
}

// C functions without a rule: methods of plain builtin types, bound or not.
bool is_method_of_plain_type(PyObject* callable) noexcept {
  PyTypeObject* type = Py_TYPE(callable);
  if (PyCFunction_Check(callable)) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    if (!self || PyModule_Check(self)) return false;
    if (PyType_Check(self)) return is_plain_builtin_type(native_base(reinterpret_cast<PyTypeObject*>(self)));
    return shown_type(self) || is_plain_builtin_type(Py_TYPE(self)) ||
           is_plain_builtin_type(native_base(Py_TYPE(self)));
  }
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type || type == &PyClassMethodDescr_Type)
    return is_plain_builtin_type(PyDescr_TYPE(callable)) ||
           shown_class(reinterpret_cast<PyObject*>(PyDescr_TYPE(callable))) != PyDescr_TYPE(callable);
  return false;
}

const char* method_name(PyObject* callable) noexcept {
  if (PyCFunction_Check(callable)) return reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
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

// Whether C code is to copy a container from before the call with its attributes, which its stand-in has not.
bool takes_all_of(Tracer& tracer, PyObject* self, PyObject* callable) noexcept {
  const StandIn* stand_in = tracer.outside.stand_in(self);
  if (!stand_in) return false;
  const char* name = method_name(callable);
  const bool takes_all = name && (std::string_view(name).starts_with("__reduce") || std::string_view(name) == "copy" ||
                                  std::string_view(name) == "__getstate__" || std::string_view(name) == "__copy__");
  return takes_all && tracer.outside.has_attributes(tracer, *stand_in);
}

// str.format and str.format_map.
bool formats_arguments(PyObject* callable) noexcept {
  const char* name = method_name(callable);
  return name && (std::string_view(name) == "format" || std::string_view(name) == "format_map");
}

// The object that a bound C method works on; null if it is not one.
PyObject* bound_self(PyObject* callable) noexcept {
  return PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
}

// Whether a class's attribute is a function, or a static or class method, property or partial of it.
bool leads_to(PyObject* attribute, PyObject* function) {
  if (attribute == function) return true;
  auto holds_as = [&](const char* name) {
    const Ref held = native_attribute(attribute, name);
    clear_error();
    return held.is(function);
  };
  if (Py_IS_TYPE(attribute, &PyStaticMethod_Type) || Py_IS_TYPE(attribute, &PyClassMethod_Type))
    return holds_as("__func__");
  if (PyObject_TypeCheck(attribute, &PyProperty_Type)) return holds_as("fget") || holds_as("fset") || holds_as("fdel");
  return Py_IS_TYPE(attribute, known_types()->partial) && holds_as("func");
}

// Whether C code may have found `function` where the trace can guard it: in the class of its first argument.
bool guard_callback(Tracer& tracer, PyObject* function, PyObject* const* slots) {
  if (tracer.outside.source_of(function) || tracer.made_functions.count(Ref::borrow(function))) return true;
  auto* object = reinterpret_cast<PyFunctionObject*>(function);
  auto* code = reinterpret_cast<PyCodeObject*>(object->func_code);
  PyObject* first = code->co_argcount > 0 ? slots[0] : nullptr;
  if (first && PyCell_Check(first)) first = PyCell_GET(first);
  if (!first) return false;
  PyTypeObject* const candidates[] = {Py_TYPE(first),
                                      PyType_Check(first) ? reinterpret_cast<PyTypeObject*>(first) : nullptr};
  for (PyTypeObject* type : candidates) {
    if (!type) continue;
    for (PyObject* name : {object->func_name, code->co_name}) {
      Ref found = lookup_in_class(tracer, type, name);
      if (found && leads_to(found.get(), function)) {
        tracer.outside.source_or_pin(tracer, function);
        return true;
      }
      if (PyErr_Occurred()) return false;
    }
  }
  // A function of another name that stands there as a special method.
  for (PyTypeObject* type : candidates)
    for (PyObject* name : type ? special_method_names() : std::vector<PyObject*>()) {
      PyObject* raw = class_attribute(type, name);
      if (!raw || !leads_to(raw, function)) continue;
      if (!lookup_in_class(tracer, type, name)) return false;
      tracer.outside.source_or_pin(tracer, function);
      return true;
    }
  return false;
}

}  // namespace

Ref instantiate(Tracer& tracer, PyTypeObject* type, const Arguments& arguments) {
  static PyObject* const new_name = interned("__new__");
  static PyObject* const init_name = interned("__init__");
  if (refuses_finalizer(tracer, type)) return nullptr;
  const bool is_metaclass = PyType_IsSubtype(type, &PyType_Type);  // make_class knows which it understands
  if (!is_metaclass && !is_safe_native_base(native_base(type)))
    return tracer.give_up(BreakReason::UnknownClass, std::string("an instance of ") + type->tp_name + " is made");
  if (!is_metaclass && has_bound_special_method(type))
    return tracer.give_up(BreakReason::UnknownClass,
                          std::string("an instance of ") + type->tp_name + " has special methods of another object");

  Ref made;
  Ref maker = lookup_in_class(tracer, type, new_name);
  if (!maker) return nullptr;
  Prepended with_type(Ref::borrow(reinterpret_cast<PyObject*>(type)),
                      Arguments{arguments.values, arguments.keyword_names});
  if (Py_IS_TYPE(maker.get(), &PyStaticMethod_Type)) {
    Ref function = load_attribute(tracer, reinterpret_cast<PyObject*>(type), new_name);
    if (!function) return nullptr;
    made = call(tracer, function.get(), with_type.arguments);
  } else if (PyFunction_Check(maker.get())) {
    made = call(tracer, maker.get(), with_type.arguments);
  } else if (is_metaclass) {
    made = make_class(tracer, type, Arguments{arguments.values, arguments.keyword_names});
  } else {
    for (const Ref& value : arguments.values)
      if (!expose(tracer, value.get())) return nullptr;
    Ref positional = arguments.positional(), keywords = arguments.keywords();
    made = Ref::steal(type->tp_new(type, positional.get(), keywords.get()));
  }
  if (!made || tracer.broken()) return nullptr;
  if (!PyType_IsSubtype(made.type(), type)) return made;

  Ref initializer = lookup_in_class(tracer, made.type(), init_name);
  if (!initializer) return PyErr_Occurred() ? Ref() : made;
  if (PyFunction_Check(initializer.get())) {
    Prepended with_self(made, Arguments{arguments.values, arguments.keyword_names});
    Ref nothing = call(tracer, initializer.get(), with_self.arguments);
    if (!nothing) return nullptr;
    if (!nothing.is(Py_None)) {
      PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'", nothing.type()->tp_name);
      return nullptr;
    }
    return made;
  }
  for (const Ref& value : arguments.values)
    if (!expose(tracer, value.get())) return nullptr;
  Ref positional = arguments.positional(), keywords = arguments.keywords();
  if (made.type()->tp_init(made.get(), positional.get(), keywords.get()) < 0 || tracer.broken()) return nullptr;
  return made;
}

Ref Arguments::positional() const {
  const auto count = static_cast<Py_ssize_t>(positional_count());
  Ref tuple = Ref::made(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Ref(values[i]).release());
  return tuple;
}

Ref Arguments::keywords() const {
  if (!keyword_count()) return nullptr;
  Ref dict = Ref::made(PyDict_New());
  for (size_t i = 0; i < keyword_count(); ++i)
    PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(keyword_names, i), values[positional_count() + i].get());
  return dict;
}

Ref call(Tracer& tracer, PyObject* given, const Arguments& arguments) {
  if (tracer.outside.is_opaque(given)) return use_opaque(tracer, given), nullptr;
  const Ref for_stand_in = method_for_stand_in(tracer, given, arguments);
  if (!for_stand_in) return nullptr;
  PyObject* callable = for_stand_in.get();
  if (Py_IS_TYPE(callable, &PyMethod_Type)) {
    Prepended with_self(Ref::borrow(PyMethod_GET_SELF(callable)), arguments);
    Ref function = Ref::borrow(PyMethod_GET_FUNCTION(callable));
    return call(tracer, function.get(), with_self.arguments);
  }
  if (Py_IS_TYPE(callable, &_PyMethodWrapper_Type)) {  // a bound slot: called as its descriptor, which rules know
    Ref self, descriptor;
    if (!unbind_slot(callable, self, descriptor)) return nullptr;
    Prepended with_self(self, arguments);
    return call(tracer, descriptor.get(), with_self.arguments);
  }
  if (const Rule* rule = find_rule(callable)) {
    if (Source* source = PyFunction_Check(callable) ? tracer.outside.source_of(callable) : nullptr;
        source && source->access != Access::Pinned)
      tracer.guards.add(source, GuardKind::Identity, tracer.origin());  // the rule is this function's
    PyObject* self = bound_self(callable);
    if (rule->kind == Rule::Kind::Special && self &&
        !PyModule_Check(self)) {  // handlers take the object as first argument
      Prepended with_self(Ref::borrow(self), arguments);
      return apply_rule(tracer, *rule, callable, with_self.arguments);
    }
    return apply_rule(tracer, *rule, callable, arguments);
  }
  if (PyErr_Occurred()) return nullptr;
  if (PyFunction_Check(callable)) return call_function(tracer, callable, arguments);
  if (PyType_Check(callable)) return call_class(tracer, reinterpret_cast<PyTypeObject*>(callable), arguments);
  if (Py_IS_TYPE(callable, known_types()->partial)) return call_partial(tracer, callable, arguments);
  if (Py_IS_TYPE(callable, &PyStaticMethod_Type)) {
    static PyObject* const function_name = interned("__func__");
    Ref function = load_attribute(tracer, callable, function_name);
    return function ? call(tracer, function.get(), arguments) : Ref();
  }
  if ((is_numpy_function(callable) && are_scalars(arguments, false)) || is_pure_scalar_method(callable, arguments)) {
    for (const Ref& value : arguments.values)
      if (!expose(tracer, value.get())) return nullptr;
    return compute_with_scalars(tracer, [&] { return call_natively(tracer, callable, arguments); });
  }
  if (is_method_of_plain_type(callable)) {
    PyObject* self = bound_self(callable);
    if (self && !expose(tracer, self)) return nullptr;
    if (!self && !arguments.values.empty()) self = arguments.values[0].get();
    if (self && !enter_functions_of_property(tracer, self)) return nullptr;
    if (self && (PyDict_Check(self) || PyAnySet_Check(self)))
      for (const Ref& value : arguments.values) guard_as_key(tracer, self, value.get());
    if (self && takes_all_of(tracer, self, callable))
      return tracer.give_up(BreakReason::Pickling, std::string("a ") + Py_TYPE(self)->tp_name +
                                                       " from before the call is copied with its attributes");
    if (self && PyUnicode_Check(self) && formats_arguments(callable))
      for (const Ref& value : arguments.values)
        if (!may_become_text(tracer, value.get())) return nullptr;
    if (compares_elements(callable) || (self && PyAnySet_Check(self))) {
      if (self) tell_apart(tracer, self);
      for (const Ref& value : arguments.values) tell_apart(tracer, value.get());
    }
    return call_natively(tracer, callable, arguments);
  }
  if (PyType_HasFeature(Py_TYPE(callable), Py_TPFLAGS_HEAPTYPE)) {
    static PyObject* const call_name = interned("__call__");
    Ref method = lookup_in_class(tracer, Py_TYPE(callable), call_name);
    if (method && PyFunction_Check(method.get())) {
      Prepended with_self(Ref::borrow(callable), arguments);
      return call(tracer, method.get(), with_self.arguments);
    }
    if (method && Py_TYPE(method.get())->tp_descr_get && !Py_IS_TYPE(method.get(), &PyWrapperDescr_Type)) {
      Ref bound = load_attribute(tracer, callable, call_name);
      return bound ? call(tracer, bound.get(), arguments) : Ref();
    }
    if (PyErr_Occurred()) return nullptr;
  }
  if (!Py_TYPE(callable)->tp_call) {
    PyErr_Format(PyExc_TypeError, "'%.200s' object is not callable", Py_TYPE(callable)->tp_name);
    return nullptr;
  }
  return tracer.give_up(BreakReason::UnknownFunction, callable_name(callable) + " is not known to the tracer");
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
        PyErr_SetString(PyExc_TypeError, "keywords must be strings");
        return nullptr;
      }
      PyTuple_SET_ITEM(names.get(), index++, Ref::borrow(key).release());
      values.push_back(Ref::borrow(value));
    }
  }
  return call(tracer, callable, Arguments{values, names.get(), is_direct});
}

Ref call_natively(Tracer& tracer, PyObject* callable, const Arguments& given) {
  std::vector<Ref> room;
  const Arguments arguments = with_callback(callable, given, room);
  if (PyErr_Occurred()) return nullptr;
  // A class method may make an instance itself: dict.fromkeys.
  if (PyObject* self = bound_self(callable); self && (PyCFunction_GET_FLAGS(callable) & METH_CLASS)) {
    if (refuses_finalizer(tracer, reinterpret_cast<PyTypeObject*>(self))) return nullptr;
  }
  std::vector<PyObject*> values;
  values.reserve(arguments.values.size() + 1);
  values.push_back(nullptr);
  for (const Ref& value : arguments.values) {
    if (!expose(tracer, value.get())) return nullptr;
    values.push_back(value.get());
  }
  PyObject* result =
      PyObject_Vectorcall(callable, values.data() + 1, arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET,
                          arguments.keyword_names);
  return adopt_result(tracer, Ref::steal(result));
}

Ref call_function(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (const std::optional<KeptOut> rule = kept_out(callable)) return tracer.give_up(rule->reason, rule->detail);
  auto* function = reinterpret_cast<PyFunctionObject*>(callable);
  const PreparedCode* prepared = prepare(reinterpret_cast<PyCodeObject*>(function->func_code));
  if (!prepared) return nullptr;
  guard_code(tracer, callable);
  auto frame = std::make_unique<Frame>(prepared, callable, tracer.frame);
  frame->called_directly = arguments.is_direct;
  switch (bind_arguments(tracer, function, arguments, *frame)) {
    case Bound::Yes:
      return evaluate(tracer, std::move(frame));
    case Bound::Failed:
      return nullptr;
    case Bound::WrongArguments:
      break;
  }
  return call_natively(tracer, callable, arguments);  // CPython's own error message
}

Ref run_called_from_c(Tracer& tracer, PyObject* callable, PyObject* const* slots) {
  if (const std::optional<KeptOut> rule = kept_out(callable)) return tracer.give_up(rule->reason, rule->detail);
  auto* function = reinterpret_cast<PyFunctionObject*>(callable);
  const PreparedCode* prepared = prepare(reinterpret_cast<PyCodeObject*>(function->func_code));
  if (!prepared) return nullptr;
  tracer.classes.notice();
  if (!guard_callback(tracer, callable, slots)) {
    if (PyErr_Occurred() && !tracer.broken()) clear_error();
    return tracer.give_up(BreakReason::UnknownCallback, callable_name(callable) + " was called by native code");
  }
  guard_code(tracer, callable);
  auto frame = std::make_unique<Frame>(prepared, callable, tracer.frame);
  PyCodeObject* code = frame->code();
  const auto defaults = static_cast<int32_t>(function->func_defaults ? PyTuple_GET_SIZE(function->func_defaults) : 0);
  const int32_t first_default = code->co_argcount - defaults;
  for (int32_t i = 0; i < prepared->locals_count; ++i) {
    if (!slots[i]) continue;
    const bool is_default = i >= first_default && i < code->co_argcount &&
                            slots[i] == PyTuple_GET_ITEM(function->func_defaults, i - first_default);
    frame->local(i) = is_default ? default_value(tracer, function, i - first_default) : Ref::borrow(slots[i]);
    if (!frame->local(i)) return nullptr;
  }
  return evaluate(tracer, std::move(frame));
}

}  // namespace minidynamo
