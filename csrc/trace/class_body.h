// Class statements: the builtin function __build_class__, the names in a class body, and type.__new__.
#pragma once

#include "world/state/tracer.h"

namespace minidynamo {

Ref load_build_class(Tracer& tracer, Frame& frame);

// In a class body: names are looked for in its namespace, then among the globals and the builtins.
Ref load_name(Tracer& tracer, Frame& frame, PyObject* name);
bool store_name(Tracer& tracer, Frame& frame, PyObject* name, PyObject* value);
bool delete_name(Tracer& tracer, Frame& frame, PyObject* name);
// A free variable of a class body that the namespace may hide; a global that a mapping may hide.
Ref load_deref_behind(Tracer& tracer, Frame& frame, PyObject* mapping, int32_t index);
Ref load_global_behind(Tracer& tracer, Frame& frame, PyObject* mapping, PyObject* name);
bool setup_annotations(Tracer& tracer, Frame& frame);

}  // namespace minidynamo
