// The ends of objects that the program may see: by a finalizer, a weak reference, a generator's finally. A trace keeps
// alive what it meets, so where the program lets go of such an object, the trace ends.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

bool is_weakly_referenced(PyObject* object) noexcept;

// True if the program may see the end of an object that the trace made: by a finalizer, a weak reference, what it holds
// open (a memoryview), or the code that a suspended generator has left to run.
bool has_observable_end(PyObject* object);

// A local is about to lose its object: the trace may end behind this instruction. What the trace made counts if the
// local alone holds it. Objects from before the trace are mostly held by others as well: they count where the program
// lets go of them on purpose, by `del`, or by None in a resume function, whose locals may be all that holds them; there
// generators count in any case, which hardly anything else holds.
void break_if_finalizer_observable(Tracer& tracer, Frame& frame, int32_t index, bool of_outside_too);

// The same, of a local that is about to be given the value on the top of the stack.
void note_overwritten(Tracer& tracer, Frame& frame, int32_t index);

// The values above `depth` on a resume function's stack are about to go: a generator from before the trace, which a
// loop has begun and leaves by `break` or by an exception, ends there.
void break_if_end_on_stack_is_observable(Tracer& tracer, Frame& frame, size_t depth);

// An except clause of a resume function is over: the exception from before the trace that it handled may end there, and
// with it what the frames in its traceback have in their variables.
void note_handled_ends(Tracer& tracer, Frame& frame);

// The root frame, a resume function's, is about to return.
void note_return(Tracer& tracer, const Frame& root);

// An inlined frame of a resume function is about to return: a generator from before the trace, which only its variables
// hold, ends there.
void note_inlined_return(Tracer& tracer, Frame& frame);

// An exception leaves an inlined frame, whose variables its traceback keeps alive. The trace ends if that may be seen.
void note_exception_leaves(Tracer& tracer, Frame& frame);

// Functions that were made in frames that have ended go with them, unless something holds them: closures may hold a
// generator.
void drop_unused_functions(Tracer& tracer);
// The same of instances whose __dict__ the program has used: they may hold something whose end is looked at.
void drop_unused_objects(Tracer& tracer);

// An item is about to be deleted from a list or dict. False: the trace ends here, so that CPython deletes it after all
// that came before.
bool break_if_end_of_item_is_observable(Tracer& tracer, PyObject* container, PyObject* key);
// An item of a list or dict, or an attribute of an object from before the trace, is about to be replaced. False: it has
// a finalizer, and the trace ends here.
bool break_if_replaced_item_is_loud(Tracer& tracer, PyObject* container, PyObject* key);
bool break_if_replaced_attribute_is_loud(Tracer& tracer, PyObject* object, PyObject* name);

}  // namespace minidynamo
