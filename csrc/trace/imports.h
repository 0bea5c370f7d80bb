// `import` of modules that are imported already.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

Ref import_name(Tracer& tracer, Frame& frame, PyObject* name, PyObject* names, PyObject* level);
Ref import_from(Tracer& tracer, PyObject* module, PyObject* name);

}  // namespace minidynamo
