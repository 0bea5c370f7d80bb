// Attributes of list[int] and int | str.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// An attribute of one; null Ref with or without a Python error if there is none.
Ref load_from_alias_or_union(Tracer& tracer, PyObject* object, PyObject* name);

}  // namespace minidynamo
