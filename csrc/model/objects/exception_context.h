// The exception that was being handled when another was raised: of one that the trace raises, that may be what its
// caller handles, which is another one at each call.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// An exception that the trace made, and raised outside of any handler of its own, has no context: that is so because
// nothing was being handled when the call began, which is guarded. Nothing happens for other exceptions.
void guard_no_context(Tracer& tracer, PyObject* exception);

// The value that was read as an attribute of such an exception; null on a break.
Ref checked_context(Tracer& tracer, PyObject* exception, PyObject* name, Ref value);

}  // namespace minidynamo
