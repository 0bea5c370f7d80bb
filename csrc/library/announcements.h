// What a program says to the world (warnings, log records), of which nothing comes back: said by the residual code, in
// the program's order, as from the line where the program says it.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref give_warning(Tracer& tracer, PyObject* callable, const Arguments& arguments);             // warnings.warn
Ref warning_filters_changed(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // after each change
// _warnings._release_lock. It raises an error if the lock is not held, so the graph breaks unless the trace holds it.
Ref release_lock_of_warnings(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref log_record(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // logging.Logger._log

}  // namespace minidynamo::handlers
