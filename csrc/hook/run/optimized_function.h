// minidynamo._C.OptimizedFunction: the native callable that optimize() returns.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// The type, ready to be put into a module; null with a Python error set.
PyTypeObject* optimized_function_type();

}  // namespace minidynamo
