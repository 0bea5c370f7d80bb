// contextvars.ContextVar: get, set and reset. What the trace sets waits in the effect log until the trace is over; a
// reset takes it back, and so does the end of `with` with a token.
#pragma once

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref context_variable_get(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref context_variable_set(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref context_variable_reset(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref context_token_enter(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref context_token_exit(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
