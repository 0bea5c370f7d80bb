// types.GenericAlias and types.UnionType: list[int], int | str. They never change, so what an outside one holds is as
// fixed as the object itself.
#pragma once
#include "model/call.h"

namespace minidynamo {

bool is_generic_alias_or_union(PyTypeObject* type);

// An outside one has been guarded by identity: what C code may take out of it is known from then on.
void pin_parts(Tracer& tracer, PyObject* object);

// An attribute of one; null Ref with or without a Python error if there is none.
Ref load_from_alias_or_union(Tracer& tracer, PyObject* object, PyObject* name);

namespace special {
// list[int](...): a call of what stands before the brackets.
Ref generic_alias_call(Tracer& tracer, PyObject* alias, const Arguments& arguments);
}  // namespace special

}  // namespace minidynamo
