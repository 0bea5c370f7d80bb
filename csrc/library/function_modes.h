// torch's stack of TorchFunctionModes, as a traced program pushes, pops and asks it (world/function_modes.h).
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref push_function_mode(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref pop_function_mode(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref function_mode_of_stack(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// What only tells whether there are modes, or how many, or whether an argument has a __torch_function__.
Ref ask_function_modes(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// `with torch.device(...)`: a mode, too.
Ref enter_device(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref leave_device(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
