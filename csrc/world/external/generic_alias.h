// types.GenericAlias and types.UnionType: list[int], int | str. They never change, so what an external one holds is as
// fixed as the object itself.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

bool is_generic_alias_or_union(PyTypeObject* type);

// An external one has been guarded by identity: what C code may take out of it is known from then on.
void pin_parts(Tracer& tracer, PyObject* object);

}  // namespace minidynamo
