// The matching half of `match` statements that CPython keeps inside its interpreter loop.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// Tuple of the values of `keys` in a mapping, or None if one is missing.
Ref match_keys(Tracer& tracer, PyObject* subject, PyObject* keys);
// Tuple of the attributes that a class pattern binds, or None if it does not match.
Ref match_class(Tracer& tracer, PyObject* subject, PyObject* type, int positional, PyObject* names);

}  // namespace minidynamo
