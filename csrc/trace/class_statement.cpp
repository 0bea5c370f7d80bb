// A class is made by CPython's own type.__new__. What that calls of Python code comes back through the frame hook; what
// it asks outside objects for is looked up here before, so that it is guarded. Bases and metaclasses with C code of
// their own are a break.
#include "trace/class_statement.h"

#include "library/builtins.h"
#include "library/rules.h"
#include "model/attribute.h"
#include "model/operator.h"
#include "python/error_text.h"
#include "python/out_of_memory.h"
#include "python/type_version.h"
#include "trace/interpreter.h"
#include "trace/object_end.h"
#include "trace/variables.h"

namespace minidynamo {
namespace {

// An attribute that may be missing: null Ref without a Python error.
Ref load_optional(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref found = load_attribute(tracer, object, name);
  if (!found && !tracer.broken() && PyErr_ExceptionMatches(PyExc_AttributeError)) clear_error();
  return found;
}

// The bases with those replaced that stand for others (__mro_entries__); `given` itself if there are none.
Ref resolve_bases(Tracer& tracer, const Ref& given) {
  static PyObject* const entries_name = interned("__mro_entries__");
  Ref bases = Ref::made(PyList_New(0));
  bool changed = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given.get()); ++i) {
    PyObject* base = PyTuple_GET_ITEM(given.get(), i);
    Ref method = PyType_Check(base) ? Ref() : load_optional(tracer, base, entries_name);
    if (!method) {
      if (PyErr_Occurred() || PyList_Append(bases.get(), base) < 0) return nullptr;
      continue;
    }
    Ref entries = call(tracer, method.get(), {given});
    if (!entries) return nullptr;
    if (!PyTuple_Check(entries.get())) {
      PyErr_SetString(PyExc_TypeError, "__mro_entries__ must return a tuple");
      return nullptr;
    }
    changed = true;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(entries.get()); ++k)
      if (PyList_Append(bases.get(), PyTuple_GET_ITEM(entries.get(), k)) < 0) return nullptr;
  }
  return changed ? Ref::steal(PyList_AsTuple(bases.get())) : given;
}

Ref call_with_keywords(Tracer& tracer, PyObject* callable, std::initializer_list<PyObject*> positional,
                       PyObject* keywords) {
  Ref arguments = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  Py_ssize_t i = 0;
  for (PyObject* argument : positional) PyTuple_SET_ITEM(arguments.get(), i++, Ref::borrow(argument).release());
  return call_with(tracer, callable, arguments.get(), keywords);
}

// The namespace that a class body fills.
Ref prepare_namespace(Tracer& tracer, PyObject* metaclass, PyObject* name, PyObject* bases, PyObject* keywords) {
  static PyObject* const prepare_name = interned("__prepare__");
  if (metaclass == reinterpret_cast<PyObject*>(&PyType_Type)) return Ref::made(PyDict_New());
  Ref prepare = load_optional(tracer, metaclass, prepare_name);
  if (!prepare) return PyErr_Occurred() ? Ref() : Ref::made(PyDict_New());
  Ref made = call_with_keywords(tracer, prepare.get(), {name, bases}, keywords);
  if (!made) return nullptr;
  if (!PyMapping_Check(made.get())) {
    PyErr_Format(PyExc_TypeError, "%.200s.__prepare__() must return a mapping, not %.200s",
                 PyType_Check(metaclass) ? reinterpret_cast<PyTypeObject*>(metaclass)->tp_name : "<metaclass>",
                 made.type()->tp_name);
    return nullptr;
  }
  return made;
}

// The body gave its __class__ cell, which type.__new__ has filled if it got it.
bool check_class_cell(PyObject* cell, PyObject* made, PyObject* name) {
  if (!PyType_Check(made) || !PyCell_Check(cell) || PyCell_GET(cell) == made) return true;
  if (PyObject* other = PyCell_GET(cell))
    PyErr_Format(PyExc_TypeError, "__class__ set to %.200R defining %.200R as %.200R", other, name, made);
  else
    PyErr_Format(PyExc_RuntimeError,
                 "__class__ not set defining %.200R as %.200R. Was __classcell__ propagated to type.__new__?", name,
                 made);
  return false;
}

bool is_own_dict(Tracer& tracer, PyObject* mapping) noexcept {
  return PyDict_CheckExact(mapping) && !tracer.outside.source_of(mapping);
}

// What a namespace has under a name; null Ref without a Python error: nothing.
Ref find_name(Tracer& tracer, PyObject* mapping, PyObject* name) {
  if (is_own_dict(tracer, mapping)) return Ref::borrow(PyDict_GetItemWithError(mapping, name));
  Ref found = subscript(tracer, mapping, name);
  if (!found && !tracer.broken() && PyErr_ExceptionMatches(PyExc_KeyError)) clear_error();
  return found;
}

bool is_understood(PyTypeObject* base) noexcept {
  PyTypeObject* native = native_base(base);
  return native == &PyBaseObject_Type || native == &PyType_Type || is_plain_builtin_type(native);
}

// What type.__new__ will ask bases and members for. False: a break, or an error.
bool look_ahead(Tracer& tracer, PyTypeObject* metaclass, PyObject* bases, PyObject* members) {
  static PyObject* const init_subclass_name = interned("__init_subclass__");
  static PyObject* const mro_name = interned("mro");
  if (native_base(metaclass) != &PyType_Type)
    return tracer.give_up(BreakReason::ClassDefinition, std::string("a class is defined by ") + metaclass->tp_name) !=
           nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
    if (!PyType_Check(reinterpret_cast<PyObject*>(base))) continue;  // type.__new__ says so
    if (!is_understood(base))
      return tracer.give_up(BreakReason::ClassDefinition, std::string("a class is derived from ") + base->tp_name) !=
             nullptr;
    if (!load_optional(tracer, PyTuple_GET_ITEM(bases, i), init_subclass_name) && PyErr_Occurred()) return false;
  }
  // It would see the class before anything says that it is one of the trace's.
  Ref order = lookup_in_class(tracer, metaclass, mro_name);
  if (!order || !order.is(class_attribute(&PyType_Type, mro_name)))
    return tracer.give_up(BreakReason::ClassDefinition, "a metaclass decides on the order of bases") != nullptr;
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(members, &position, &key, &value)) {
    guard_special_methods(tracer, value);
    if (tracer.broken()) return false;
  }
  return true;
}

// type.__new__ takes __module__ from the running frame, which is not CPython's.
bool set_module(Tracer& tracer, PyObject* members) {
  static PyObject* const module_name = interned("__module__");
  static PyObject* const name_name = interned("__name__");
  if (PyDict_GetItemWithError(members, module_name) || !PyDict_GetItemWithError(tracer.frame->globals.get(), name_name))
    return !PyErr_Occurred();
  Ref module = load_global(tracer, *tracer.frame, name_name);
  return module && PyDict_SetItem(members, module_name, module.get()) == 0;
}

}  // namespace

Ref load_build_class(Tracer& tracer, Frame& frame) {
  static PyObject* const name = interned("__build_class__");
  Ref found = load_builtin(tracer, frame, name);
  if (!found && !PyErr_Occurred()) PyErr_SetString(PyExc_NameError, "__build_class__ not found");
  return found;
}

Ref load_name(Tracer& tracer, Frame& frame, PyObject* name) {
  Ref found = find_name(tracer, frame.locals_mapping.get(), name);
  return found || PyErr_Occurred() ? found : load_global(tracer, frame, name);
}

bool store_name(Tracer& tracer, Frame& frame, PyObject* name, PyObject* value) {
  PyObject* mapping = frame.locals_mapping.get();
  if (!is_own_dict(tracer, mapping)) return store_subscript(tracer, mapping, name, value);
  return tracer.outside.fill_if_stand_in(tracer, value) && PyDict_SetItem(mapping, name, value) == 0;
}

bool delete_name(Tracer& tracer, Frame& frame, PyObject* name) {
  if (store_subscript(tracer, frame.locals_mapping.get(), name, nullptr)) return true;
  if (tracer.broken()) return false;
  PyErr_Format(PyExc_NameError, "name '%U' is not defined", name);
  add_name_context(name);
  return false;
}

Ref load_class_deref(Tracer& tracer, Frame& frame, int32_t index) {
  Ref found = find_name(tracer, frame.locals_mapping.get(), local_name(frame, index));
  if (found || PyErr_Occurred()) return found;
  found = load_cell(tracer, cell_in(tracer, frame, index).get());
  if (!found && !PyErr_Occurred()) unbound_cell(frame, index);
  return found;
}

bool setup_annotations(Tracer& tracer, Frame& frame) {
  static PyObject* const name = interned("__annotations__");
  Ref present = find_name(tracer, frame.locals_mapping.get(), name);
  if (present || PyErr_Occurred()) return static_cast<bool>(present);
  Ref annotations = Ref::made(PyDict_New());
  return store_name(tracer, frame, name, annotations.get());
}

Ref make_class(Tracer& tracer, PyTypeObject* metaclass, const Arguments& arguments) {
  static PyObject* const new_name = interned("__new__");
  Ref keywords = arguments.keywords();
  if (arguments.positional_count() != 3 || !PyUnicode_Check(arguments.values[0].get()) ||
      !PyTuple_Check(arguments.values[1].get()) || !PyDict_Check(arguments.values[2].get())) {
    Ref positional = arguments.positional();  // CPython's own message
    return Ref::steal(PyType_Type.tp_new(metaclass, positional.get(), keywords.get()));
  }
  const long now = tracer.executed;  // a metaclass's __getattribute__ is traced below, before the class is made
  if (now >= tracer.limits.classes_until) return tracer.give_up(BreakReason::ClassDefinition, "a class is defined");
  PyObject* bases = arguments.values[1].get();
  PyTypeObject* winner = _PyType_CalculateMetaclass(metaclass, bases);
  if (!winner) return nullptr;
  if (winner != metaclass) {
    Ref maker = lookup_in_class(tracer, winner, new_name);
    if (!maker) return nullptr;
    if (Py_IS_TYPE(maker.get(), &PyStaticMethod_Type)) {
      maker = load_attribute(tracer, reinterpret_cast<PyObject*>(winner), new_name);
      if (!maker) return nullptr;
      std::vector<Ref> values = {Ref::borrow(reinterpret_cast<PyObject*>(winner))};
      values.insert(values.end(), arguments.values.begin(), arguments.values.end());
      return call(tracer, maker.get(), Arguments{values, arguments.keyword_names});
    }
    metaclass = winner;
  }
  if (has_finalizer(tracer, metaclass))
    return tracer.give_up(BreakReason::Finalizer,
                          std::string("a class of ") + metaclass->tp_name + ", which has a finalizer, is made");
  if (!expose(tracer, arguments.values[2].get())) return nullptr;
  Ref members = Ref::made(PyDict_Copy(arguments.values[2].get()));
  if (!look_ahead(tracer, metaclass, bases, members.get()) || !set_module(tracer, members.get())) return nullptr;
  Ref positional = Ref::made(PyTuple_Pack(3, arguments.values[0].get(), bases, members.get()));
  auto* first = reinterpret_cast<PyTypeObject*>(
      PyTuple_GET_SIZE(bases) ? PyTuple_GET_ITEM(bases, 0) : reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  MadeClasses::Making making(tracer.classes,
                             PyType_Check(reinterpret_cast<PyObject*>(first)) ? first : &PyBaseObject_Type,
                             arguments.values[0].get(), now);
  Ref made = Ref::steal(PyType_Type.tp_new(metaclass, positional.get(), keywords.get()));
  return tracer.broken() ? Ref() : made;
}

namespace special {

Ref build_class(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  static PyObject* const metaclass_name = interned("metaclass");
  static PyObject* const original_name = interned("__orig_bases__");
  const size_t count = arguments.positional_count();
  if (count < 2 || !PyFunction_Check(arguments.values[0].get()) || !PyUnicode_Check(arguments.values[1].get()))
    return call_natively(tracer, callable, arguments);  // CPython's own message
  if (tracer.executed >= tracer.limits.classes_until)
    return tracer.give_up(BreakReason::ClassDefinition, "a class is defined");
  PyObject* body = arguments.values[0].get();
  PyObject* name = arguments.values[1].get();
  Ref given = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(count) - 2));
  for (size_t i = 2; i < count; ++i)
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i) - 2, Ref(arguments.values[i]).release());
  Ref bases = resolve_bases(tracer, given);
  if (!bases) return nullptr;
  Ref keywords = arguments.keywords();
  Ref metaclass = keywords ? Ref::borrow(PyDict_GetItemWithError(keywords.get(), metaclass_name)) : Ref();
  if (metaclass && PyDict_DelItem(keywords.get(), metaclass_name) < 0) return nullptr;
  if (!metaclass)
    metaclass = Ref::borrow(PyTuple_GET_SIZE(bases.get())
                                ? reinterpret_cast<PyObject*>(Py_TYPE(PyTuple_GET_ITEM(bases.get(), 0)))
                                : reinterpret_cast<PyObject*>(&PyType_Type));
  if (PyType_Check(metaclass.get())) {
    metaclass = Ref::borrow(reinterpret_cast<PyObject*>(
        _PyType_CalculateMetaclass(reinterpret_cast<PyTypeObject*>(metaclass.get()), bases.get())));
    if (!metaclass) return nullptr;
  }
  Ref members = prepare_namespace(tracer, metaclass.get(), name, bases.get(), keywords.get());
  if (!members) return nullptr;

  const PreparedCode* prepared = prepare(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(body)));
  if (!prepared) return nullptr;
  auto frame = std::make_unique<Frame>(prepared, body, tracer.frame);
  frame->locals_mapping = members;
  Ref cell = evaluate(tracer, std::move(frame));
  if (!cell) return nullptr;
  if (!bases.is(given.get()) && !store_subscript(tracer, members.get(), original_name, given.get())) return nullptr;
  Ref made = call_with_keywords(tracer, metaclass.get(), {name, bases.get(), members.get()}, keywords.get());
  return made && check_class_cell(cell.get(), made.get(), name) ? made : Ref();
}

// The __new__ of any C class, which are one C function for all.
Ref native_new(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  static const Rule pure{Rule::Kind::Pure};
  PyObject* owner = arguments.values[0].get();
  const Arguments own{arguments.values.subspan(1), arguments.keyword_names};
  PyObject* first = own.positional_count() ? own.values[0].get() : nullptr;
  if (owner != reinterpret_cast<PyObject*>(&PyType_Type) || !first || !PyType_Check(first) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(first), &PyType_Type)) {
    auto* type = first && PyType_Check(first) ? reinterpret_cast<PyTypeObject*>(first) : nullptr;
    if (type && refuses_finalizer(tracer, type)) return nullptr;
    return apply_rule(tracer, pure, callable, own);
  }
  return make_class(tracer, reinterpret_cast<PyTypeObject*>(first),
                    Arguments{own.values.subspan(1), own.keyword_names});
}

// Methods of `type`, or of C code, that change a class: one of the trace's own may be changed.
Ref change_class(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!arguments.values.empty() && tracer.classes.has(arguments.values[0].get())) {
    for (const Ref& value : arguments.values)
      if (!tracer.outside.fill_if_stand_in(tracer, value.get())) return nullptr;
    return call_natively(tracer, callable, arguments);
  }
  return tracer.give_up(BreakReason::ClassDefinition, "a class from before the call is changed");
}

// The __init__ of a C class whose objects never change otherwise.
Ref initialize_own(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!arguments.values.empty() && tracer.outside.source_of(arguments.values[0].get()))
    return tracer.give_up(BreakReason::OutsideWrite, "an object from before the call is initialized again");
  return call_natively(tracer, callable, arguments);
}

}  // namespace special
}  // namespace minidynamo
