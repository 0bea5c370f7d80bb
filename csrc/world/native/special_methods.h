// Special methods that are no methods: `__next__ = some_generator.__next__` in a class.
//
// C code that works on an instance of a Python class calls its special methods. Functions come back to the trace by the
// frame hook, and the C methods of the class's own bases work on the instance. What is bound to another object works on
// that one, which the trace may neither change nor read without a guard.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// True if a Python class, or a Python base of it, has such a one.
bool has_bound_special_method(PyTypeObject* type);

}  // namespace minidynamo
