// torch.ops: operators by their names.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

// torch.ops.<namespace>, .<operator> of it and .<overload> of that, asked for the first time.
Ref find_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
