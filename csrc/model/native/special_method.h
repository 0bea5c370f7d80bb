// Special methods that a class has as Python code, which is traced rather than called by native code.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// A method of the class that is Python code; null Ref without error if there is none.
Ref python_method(Tracer& tracer, PyObject* object, const char* name);
// The same of a tensor's class, but for what it has from torch.
Ref own_tensor_method(Tracer& tracer, PyObject* object, const char* name);
// A method of the object's class that is the program's, a function or any other object; null Ref without error if the
// class has none, or a slot of C code.
Ref own_method(Tracer& tracer, PyObject* object, PyObject* name);
// Calls a method that was found in the object's class, bound to the object as its own __get__ says.
Ref call_own_method(Tracer& tracer, const Ref& method, PyObject* object, PyObject* name,
                    std::initializer_list<Ref> arguments);

}  // namespace minidynamo
