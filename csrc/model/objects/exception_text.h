// Text of exceptions from before the trace (or from behind a graph break): what C code would read of them is guarded.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

bool is_exception_from_outside(Tracer& tracer, PyObject* object) noexcept;
// The text that `__str__` or `__repr__` of such an exception returns. Null on a break or a Python error.
Ref text_of_exception(Tracer& tracer, PyObject* exception, const char* method_name);

}  // namespace minidynamo
