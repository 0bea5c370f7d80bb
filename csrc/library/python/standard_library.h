// C code of the standard library: what it reads is guarded, and what it would do to objects from before the call is
// done step by step.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// True if the running frame belongs to library code that uses identities of objects and threads as keys only.
bool identity_is_only_a_key(const Tracer& tracer);

namespace handlers {
Ref reference_call(Tracer& tracer, PyObject* callable, const Arguments& arguments);
}  // namespace handlers

}  // namespace minidynamo
