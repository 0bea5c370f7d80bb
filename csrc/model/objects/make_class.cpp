// A class is made by CPython's own type.__new__. What that calls of Python code comes back through the frame hook; what
// it asks external objects for is looked up here before, so that it is guarded. Bases and metaclasses with C code of
// their own are a break.
#include "model/objects/make_class.h"

#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "world/external/class_lookup.h"
#include "world/external/known_types.h"
#include "world/external/scope.h"
#include "world/external/types.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

bool is_understood(PyTypeObject* base) noexcept {
  static constinit ImportedType autograd_function{
      "torch._C._FunctionBase"};  // nothing happens where it is derived from
  PyTypeObject* native = native_base(base);
  return native == &PyBaseObject_Type || native == &PyType_Type || native == autograd_function ||
         is_plain_builtin_type(native);
}

// Checks ahead what type.__new__ will ask of bases and members. False: a break, or an error.
bool look_ahead(Tracer& tracer, PyTypeObject* metaclass, PyObject* bases, PyObject* members) {
  if (native_base(metaclass) != &PyType_Type)
    return tracer.abort(BreakReason::ClassDefinition, std::string("a class is defined by ") + metaclass->tp_name) !=
           nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    auto* base = as_type(PyTuple_GET_ITEM(bases, i));
    if (!PyType_Check(as_object(base))) continue;  // type.__new__ says so
    if (!is_understood(base))
      return tracer.abort(BreakReason::ClassDefinition, std::string("a class is derived from ") + base->tp_name) !=
             nullptr;
    if (!load_optional(tracer, PyTuple_GET_ITEM(bases, i), "__init_subclass__"_name) && PyErr_Occurred()) return false;
  }
  // It would see the class before anything says that it is one of the trace's.
  Ref order = lookup_in_class(tracer, metaclass, "mro"_name);
  if (!order || !order.is(class_attribute(&PyType_Type, "mro"_name)))
    return tracer.abort(BreakReason::ClassDefinition, "a metaclass decides on the order of bases") != nullptr;
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(members, &position, &key, &value)) {
    guard_special_methods(tracer, value);
    if (tracer.is_over()) return false;
  }
  return true;
}

// type.__new__ takes __module__ from the running frame, which is not CPython's.
bool set_module(Tracer& tracer, PyObject* members) {
  if (PyDict_GetItemWithError(members, "__module__"_name) ||
      !PyDict_GetItemWithError(tracer.frame->globals.get(), "__name__"_name))
    return !PyErr_Occurred();
  Ref module = load_global(tracer, *tracer.frame, "__name__"_name);
  return module && PyDict_SetItem(members, "__module__"_name, module.get()) == 0;
}

// Only a class statement and types.new_class ask a base for the classes that it stands for.
bool check_no_base_stands_for_others(Tracer& tracer, PyObject* bases) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
    PyObject* base = PyTuple_GET_ITEM(bases, i);
    if (PyType_Check(base)) continue;
    if (load_optional(tracer, base, "__mro_entries__"_name))
      PyErr_SetString(PyExc_TypeError, "type() doesn't support MRO entry resolution; use types.new_class()");
    if (PyErr_Occurred()) return false;
  }
  return true;
}

}  // namespace

Ref load_optional(Tracer& tracer, PyObject* object, PyObject* name) {
  Ref found = load_attribute(tracer, object, name);
  if (!found && !tracer.is_over() && PyErr_ExceptionMatches(PyExc_AttributeError)) clear_error();
  return found;
}

Ref make_class(Tracer& tracer, PyTypeObject* metaclass, const Arguments& arguments) {
  Ref keywords = arguments.keywords();
  if (arguments.positional_count() != 3 || !PyUnicode_Check(arguments.values[0].get()) ||
      !PyTuple_Check(arguments.values[1].get()) || !PyDict_Check(arguments.values[2].get())) {
    Ref positional = arguments.positional();  // CPython's own message
    return Ref::steal(PyType_Type.tp_new(metaclass, positional.get(), keywords.get()));
  }
  const long now = tracer.executed;  // a metaclass's __getattribute__ is traced below, before the class is made
  if (now >= tracer.limits.classes_until) return tracer.abort(BreakReason::ClassDefinition, "a class is defined");
  PyObject* bases = arguments.values[1].get();
  if (!check_no_base_stands_for_others(tracer, bases)) return nullptr;
  PyTypeObject* winner = winning_metaclass(metaclass, bases);
  if (!winner) return nullptr;
  if (winner != metaclass) {
    Ref maker = lookup_in_class(tracer, winner, "__new__"_name);
    if (!maker) return nullptr;
    if (Py_IS_TYPE(maker.get(), &PyStaticMethod_Type)) {
      maker = load_attribute(tracer, as_object(winner), "__new__"_name);
      if (!maker) return nullptr;
      std::vector<Ref> values = {Ref::borrow(as_object(winner))};
      values.insert(values.end(), arguments.values.begin(), arguments.values.end());
      return call(tracer, maker.get(), Arguments{values, arguments.keyword_names});
    }
    metaclass = winner;
  }
  if (has_finalizer(tracer, metaclass))
    return tracer.abort(BreakReason::Finalizer,
                        std::string("a class of ") + metaclass->tp_name + ", which has a finalizer, is made");
  if (!prepare_for_native(tracer, arguments.values[2].get())) return nullptr;
  Ref members = Ref::made(PyDict_Copy(arguments.values[2].get()));
  if (!look_ahead(tracer, metaclass, bases, members.get()) || !set_module(tracer, members.get())) return nullptr;
  Ref positional = Ref::made(PyTuple_Pack(3, arguments.values[0].get(), bases, members.get()));
  auto* first = as_type(PyTuple_GET_SIZE(bases) ? PyTuple_GET_ITEM(bases, 0) : as_object(&PyBaseObject_Type));
  MadeClasses::Making making(tracer.classes, PyType_Check(as_object(first)) ? first : &PyBaseObject_Type,
                             arguments.values[0].get(), now);
  Ref made = Ref::steal(PyType_Type.tp_new(metaclass, positional.get(), keywords.get()));
  return tracer.is_over() ? Ref() : made;
}

}  // namespace minidynamo
