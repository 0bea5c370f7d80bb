// The ends of objects that the program may see (witness.h). A trace keeps alive what it meets, so where the program
// lets go of such an object, the trace ends.
#pragma once
#include "model/objects/witness.h"
#include "world/state/tracer.h"

namespace minidynamo {

// The trace is to end behind this instruction, where an object ends: one from before the trace, or (null) its own.
void end_behind_instruction(Tracer& tracer, Source* outside);

// An object from before the trace has lost its place. True if code of the program runs at its end, or at that of what
// ends with it. An object that others hold besides does not end.
bool note_let_go(Tracer& tracer, PyObject* object, int depth = kDeep);

// A variable is about to lose its object by `del`, or as it is given the value on the top of the stack: the trace may
// end behind this instruction. What the trace made counts if the variable alone holds it; what was there before counts
// in a resume function, whose variables may be all that holds it, and by `del` anywhere.
void note_deleted(Tracer& tracer, Frame& frame, int32_t index);
void note_overwritten(Tracer& tracer, Frame& frame, int32_t index);

// The values above `depth` on a resume function's stack are about to go: a generator from before the trace, say, which
// a loop has begun and leaves by `break` or by an exception, ends there.
void note_dropped(Tracer& tracer, Frame& frame, size_t depth);

// An except clause of a resume function is over: the exception from before the trace that it handled may end there, and
// with it what the frames in its traceback have in their variables.
void note_handled_ends(Tracer& tracer, Frame& frame);

// The root frame, a resume function's, is about to return.
void note_return(Tracer& tracer, const Frame& root);

// An inlined frame of a resume function is about to return: what was there before the trace, and only its variables
// hold, ends there.
void note_inlined_return(Tracer& tracer, Frame& frame);

// An exception leaves an inlined frame, whose variables its traceback keeps alive. The trace ends if that may be seen.
void note_exception_leaves(Tracer& tracer, Frame& frame);

// Functions that were made in frames that have ended go with them, unless something holds them: closures may hold a
// generator.
void drop_unused_functions(Tracer& tracer);
// The same of instances whose __dict__ the program has used: they may hold something whose end is looked at.
void drop_unused_objects(Tracer& tracer);

}  // namespace minidynamo
