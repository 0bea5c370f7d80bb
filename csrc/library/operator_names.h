// torch.ops: operators by their names.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::special {

// torch.ops.<namespace> and torch.ops.<namespace>.<operator>, asked for the first time.
Ref find_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::special
