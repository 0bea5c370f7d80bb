// Context managers of torch's C code.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref enter_disabling_context(Tracer& tracer, PyObject* callable,
                            const Arguments& arguments);  // of torch._C.DisableTorchFunctionSubclass() and its like
Ref leave_disabling_context(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref profiler_range_enter(Tracer& tracer, PyObject* callable,
                         const Arguments& arguments);  // what record_function is made of
Ref profiler_range_exit(Tracer& tracer, PyObject* callable, const Arguments& arguments);

Ref profiler_monitor(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref set_anomaly(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
