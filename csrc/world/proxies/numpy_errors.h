// NumPy's handling of floating-point errors (numpy.errstate, numpy.seterr), on which it depends if a division by zero
// raises. A graph tells of no such error: it stands for NumPy's where these are ignored, or are warned about.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// Guards that no error raises, prints or calls a function. False: one does; that is guarded too.
bool guard_numpy_errors(Tracer& tracer);

}  // namespace minidynamo
