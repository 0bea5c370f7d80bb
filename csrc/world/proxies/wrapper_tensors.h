// Tensors that wrap tensors (tensor/fake/wrapper_fake.h) in a trace. Their class's methods run natively, on fakes, as
// the meta kernels of operators do: torch asks of such a class that these change nothing but what they are given.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The fake of a wrapper from before the call. Its tensors enter, and whatever else it holds is guarded, so that it is
// taken apart in the same way at the next call. `enter` enters a part, and all that it holds. A null Ref without a
// break: it is opaque.
Ref make_wrapper_fake(Tracer& tracer, Source* source, Ref (*enter)(Tracer&, Source*));
// Notes the wrappers that native code returned: those that hold fakes are fakes from now on.
void note_wrappers(PyObject* result);
// Guards the methods of a class whose instances the trace makes.
void guard_wrapper_class(Tracer& tracer, PyTypeObject* type);
// Guards all that an object holds that entered the trace, or is made of constants, and is not changed. False: that
// cannot be told.
bool is_guarded_deep(Tracer& tracer, PyObject* entered, Ref (*enter)(Tracer&, Source*));
// The attributes that lie in an object's dict or slots, as a new dict.
Ref attributes_of_wrapper(PyObject* wrapper);
// True if what operators have written to belongs to a wrapper from before the call.
bool is_written_in_wrapper(const Tracer& tracer);

}  // namespace minidynamo
