// Handlers of rules for C functions of the standard library, and for calls of its objects: what they read is guarded,
// what they would do natively with external objects is done step by step.
#pragma once

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo {

// Whether the running frame belongs to library code that uses identities of objects and threads as keys only.
bool identity_is_only_a_key(const Tracer& tracer);

namespace handlers {
#define SPECIAL(name) Ref name(Tracer& tracer, PyObject* callable, const Arguments& arguments)
SPECIAL(thread_identity);
SPECIAL(typing_caller);
SPECIAL(signature_of);
SPECIAL(leave_untagged);
SPECIAL(compile_pattern);
SPECIAL(file_system_path);
SPECIAL(change_environment);
SPECIAL(reference_call);
SPECIAL(make_reference);
SPECIAL(collect_garbage);
#undef SPECIAL
}  // namespace handlers

}  // namespace minidynamo
