// Special methods that a class has as Python code, which is traced rather than called by native code.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

// A method of the class that is Python code; null Ref without error if there is none.
Ref python_method(Tracer& tracer, PyObject* object, const char* name);
// The same of a tensor's class, but for what it has from torch.
Ref own_tensor_method(Tracer& tracer, PyObject* object, const char* name);

}  // namespace minidynamo
