// What list[int] and int | str hold, and how their attributes are found.
#include "model/generic_alias.h"

#include "model/abstract.h"
#include "python/type_version.h"
#include "world/enter.h"
#include "world/tracer.h"

namespace minidynamo {

namespace {

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

}  // namespace

Ref load_from_alias_or_union(Tracer& tracer, PyObject* object, PyObject* name) {
  static PyObject* const origin_name = interned("__origin__");
  if (Py_IS_TYPE(object, &Py_GenericAliasType) && !is_own_name_of_alias(name)) {
    Ref origin = load_from_alias_or_union(tracer, object, origin_name);
    return origin ? load_attribute(tracer, origin.get(), name) : Ref();
  }
  Ref value = Ref::steal(PyObject_GetAttr(object, name));
  Source* source = tracer.world.source_of(object);
  const bool is_field = value && class_attribute(Py_TYPE(object), name) && !PyCFunction_Check(value.get());
  if (!source || !is_field || tracer.is_over()) return tracer.is_over() ? Ref() : value;
  return load_part(tracer, source, Access::Attribute, name, value.get());
}

}  // namespace minidynamo
