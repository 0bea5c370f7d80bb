// torch.amp.GradScaler.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref step_unless_infinite(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // GradScaler._maybe_opt_step

}  // namespace minidynamo::handlers
