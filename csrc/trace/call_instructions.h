// The instructions that make calls and functions: from the value stack to model/protocols/abstract.h.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

Ref call_instruction(Tracer& tracer, Frame& frame, int32_t count);
Ref call_unpacked(Tracer& tracer, Frame& frame, bool has_keywords);
Ref make_function(Tracer& tracer, Frame& frame, int32_t flags);

// Runs LOAD_SUPER_ATTR, which has `super`, a class and an object on the stack. super() without arguments is called with
// them too, another callable of that name as it was written.
Ref call_super(Tracer& tracer, Frame& frame, bool has_arguments);
// Pushes what LOAD_METHOD does: a function and its first argument, or a null and a callable.
bool push_method(Tracer& tracer, Frame& frame, PyObject* object, PyObject* name);

}  // namespace minidynamo
