// The parts of list[int] and int | str, and how their attributes are found.
#include "model/objects/generic_alias.h"

#include "model/protocols/abstract.h"
#include "python/version/type_version.h"
#include "world/external/enter.h"
#include "world/state/tracer.h"

namespace minidynamo {

namespace {

// The names that a generic alias answers for itself; any other it asks its origin for.
bool is_own_name_of_alias(PyObject* name) {
  static PyObject* const own_names[] = {
      "__class__"_name,       "__origin__"_name,     "__args__"_name,
      "__unpacked__"_name,    "__parameters__"_name, "__typing_unpacked_tuple_args__"_name,
      "__mro_entries__"_name, "__reduce_ex__"_name,  "__reduce__"_name,
      "__copy__"_name,        "__deepcopy__"_name,
  };
  for (PyObject* own : own_names)
    if (name == own) return true;
  return false;
}

}  // namespace

Ref load_from_alias_or_union(Tracer& tracer, PyObject* object, PyObject* name) {
  if (Py_IS_TYPE(object, &Py_GenericAliasType) && !is_own_name_of_alias(name)) {
    Ref origin = load_from_alias_or_union(tracer, object, "__origin__"_name);
    return origin ? load_attribute(tracer, origin.get(), name) : Ref();
  }
  Ref value = Ref::steal(PyObject_GetAttr(object, name));
  Source* source = tracer.world.source_of(object);
  const bool is_field = value && class_attribute(Py_TYPE(object), name) && !PyCFunction_Check(value.get());
  if (!source || !is_field || tracer.is_over()) return tracer.is_over() ? Ref() : value;
  return load_part(tracer, source, Access::Attribute, name, value.get());
}

}  // namespace minidynamo
