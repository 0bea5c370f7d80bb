// What list[int] and int | str hold, and how their attributes are found.
#include "model/generic_alias.h"

#include "guard/constants.h"
#include "model/attribute.h"
#include "python/out_of_memory.h"
#include "python/type_version.h"
#include "world/known_types.h"
#include "world/tracer.h"

namespace minidynamo {

namespace {

PyTypeObject* union_type() {
  static constinit ImportedType type{"types.UnionType"};
  return type;
}

Ref arguments_of(PyObject* object) {
  static PyObject* const args_name = interned("__args__");
  return Ref::steal(PyObject_GetAttr(object, args_name));
}

// The names that a generic alias answers for itself; any other it asks its origin for.
bool is_own_name_of_alias(PyObject* name) {
  static PyObject* const own_names[] = {
      interned("__class__"),       interned("__origin__"),     interned("__args__"),
      interned("__unpacked__"),    interned("__parameters__"), interned("__typing_unpacked_tuple_args__"),
      interned("__mro_entries__"), interned("__reduce_ex__"),  interned("__reduce__"),
      interned("__copy__"),        interned("__deepcopy__"),
  };
  for (PyObject* own : own_names)
    if (name == own) return true;
  return false;
}

void pin(Tracer& tracer, PyObject* object) {
  if (is_constant(object) || tracer.outside.source_of(object)) return;
  tracer.outside.source_or_pin(tracer, object);
  if (is_generic_alias_or_union(Py_TYPE(object))) pin_parts(tracer, object);
}

}  // namespace

bool is_generic_alias_or_union(PyTypeObject* type) { return type == &Py_GenericAliasType || type == union_type(); }

void pin_parts(Tracer& tracer, PyObject* object) {
  Ref arguments = arguments_of(object);
  for (Py_ssize_t i = 0; arguments && i < PyTuple_GET_SIZE(arguments.get()); ++i) {
    PyObject* argument = PyTuple_GET_ITEM(arguments.get(), i);
    if (!PyList_CheckExact(argument) && !PyTuple_CheckExact(argument)) pin(tracer, argument);
  }
  clear_error();
}

Ref load_from_alias_or_union(Tracer& tracer, PyObject* object, PyObject* name) {
  static PyObject* const origin_name = interned("__origin__");
  if (Py_IS_TYPE(object, &Py_GenericAliasType) && !is_own_name_of_alias(name)) {
    Ref origin = load_from_alias_or_union(tracer, object, origin_name);
    return origin ? load_attribute(tracer, origin.get(), name) : Ref();
  }
  Ref value = Ref::steal(PyObject_GetAttr(object, name));
  Source* source = tracer.outside.source_of(object);
  const bool is_field = value && class_attribute(Py_TYPE(object), name) && !PyCFunction_Check(value.get());
  if (!source || !is_field || tracer.broken()) return tracer.broken() ? Ref() : value;
  return tracer.outside.enter(tracer, tracer.guards.child(source, Access::Attribute, name, -1, value.get()));
}

namespace special {

Ref generic_alias_call(Tracer& tracer, PyObject* alias, const Arguments& arguments) {
  static PyObject* const class_name = interned("__orig_class__");
  static PyObject* const origin_name = interned("__origin__");
  Ref origin = Ref::steal(PyObject_GetAttr(alias, origin_name));
  if (!origin || !PyType_Check(origin.get()))
    return clear_error(), tracer.give_up(BreakReason::UnknownFunction, "a generic alias of no class is called");
  tracer.outside.source_or_pin(tracer, origin.get());
  Ref made = call(tracer, origin.get(), Arguments{arguments.values, arguments.keyword_names});
  if (!made || !PyType_HasFeature(made.type(), Py_TPFLAGS_HEAPTYPE)) return made;
  if (store_attribute(tracer, made.get(), class_name, alias)) return made;
  if (tracer.broken() || (!PyErr_ExceptionMatches(PyExc_AttributeError) && !PyErr_ExceptionMatches(PyExc_TypeError)))
    return nullptr;
  clear_error();
  return made;
}

}  // namespace special

}  // namespace minidynamo
