// type.__new__.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// type.__new__(metaclass, name, bases, namespace, **keywords).
Ref make_class(Tracer& tracer, PyTypeObject* metaclass, const Arguments& arguments);
// An attribute that may be missing: null Ref without a Python error.
Ref load_optional(Tracer& tracer, PyObject* object, PyObject* name);

}  // namespace minidynamo
