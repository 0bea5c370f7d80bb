// abc.ABCMeta beneath its Python part: what isinstance and issubclass ask of abstract base classes.
#pragma once

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// A class was found to be no subclass of any abstract one among `classes` (a class or nested tuples of such): that may
// change when a class is registered, so a guard asks again.
void guard_is_no_subclass(Tracer& tracer, PyTypeObject* type, PyObject* classes);

}  // namespace minidynamo
