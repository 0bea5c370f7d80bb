// What a program says to the world (warnings, log records), of which nothing comes back: said by the residual code, in
// the program's order, as from the line where the program says it.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo {

// What in the captured code may see an error that is raised at the current instruction: nothing, `with` blocks alone,
// or an `except` or `finally` clause.
enum class Handler : uint8_t { None, With, Clause };
Handler handler_around(const Tracer& tracer);

}  // namespace minidynamo

namespace minidynamo::handlers {

Ref give_warning(Tracer& tracer, PyObject* callable, const Arguments& arguments);             // warnings.warn
Ref warning_filters_changed(Tracer& tracer, PyObject* callable, const Arguments& arguments);  // after each change
Ref log_record(Tracer& tracer, PyObject* callable, const Arguments& arguments);               // logging.Logger._log

}  // namespace minidynamo::handlers
