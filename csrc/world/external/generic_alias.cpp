#include "world/external/generic_alias.h"

#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/types.h"

namespace minidynamo {
namespace {

PyTypeObject* union_type() {
  static constinit ImportedType type{"types.UnionType"};
  return type;
}

Ref arguments_of(PyObject* object) { return Ref::steal(PyObject_GetAttr(object, "__args__"_name)); }

void pin(Tracer& tracer, PyObject* object) {
  if (is_constant(object) || tracer.world.source_of(object)) return;
  source_or_pin(tracer, object);
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

}  // namespace minidynamo
