// Raising and handling exceptions, and `with`. Exceptions in a trace are real ones, unwound by the code's exception
// table.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// `raise`, `raise exception`, `raise exception from cause`. Always ends with a Python error set.
void raise_exception(Tracer& tracer, Ref exception, Ref cause);
// Goes on with an exception that was raised before, with the traceback it has. Always ends with a Python error set.
void raise_again(Tracer& tracer, Ref exception);

// An instruction raised, or a frame that it called did. False: the error leaves this frame too.
bool handle_error(Tracer& tracer, Frame& frame);
// True if a class or a tuple of classes may stand in an except clause; otherwise a TypeError.
bool catches_exceptions_only(PyObject* type);
// `except type`: whether the exception below it on the stack is one.
bool check_match(Tracer& tracer, Frame& frame);

// `with`: calls __enter__, leaving __exit__ below its result.
bool before_with(Tracer& tracer, Frame& frame);
// LOAD_SPECIAL: the method, bound, above a null.
bool push_special(Tracer& tracer, Frame& frame, SpecialMethod which);
// A with block ended with the exception on the stack: calls __exit__.
bool call_exit(Tracer& tracer, Frame& frame);

// Runs CLEANUP_THROW on the stack's operands: StopIteration ends a `yield from` with its value.
bool end_wait(Tracer& tracer, Frame& frame);
// CALL_INTRINSIC_1.
Ref call_intrinsic(Tracer& tracer, int32_t number, Ref operand);

}  // namespace minidynamo
