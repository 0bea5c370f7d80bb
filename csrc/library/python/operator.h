// The functions of the operator module do what the operators do: by the same code, so that what an operator guards is
// guarded here too.
#pragma once

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

Ref call_operator(Tracer& tracer, PyObject* function, const Arguments& arguments);

}  // namespace minidynamo
