// contextvars.ContextVar: get, set and reset. What the trace sets waits in Outside until the trace is over; a reset
// takes it back.
#pragma once

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo {

// What set() gives in a trace. Its Token is made when the variable is really set.
bool is_context_token(PyObject* object);

namespace handlers {
Ref context_variable_get(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref context_variable_set(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref context_variable_reset(Tracer& tracer, PyObject* callable, const Arguments& arguments);
}  // namespace handlers

}  // namespace minidynamo
