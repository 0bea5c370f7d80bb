// Methods as the C code behind an object's class defines them, past what Python classes put in their place: a program's
// subclass of torch.Tensor may have a `size()` of its own, which is the program's code. Attributes:
// python/objects/native_contents.h.
#pragma once
#include <initializer_list>

#include "python/ref.h"

namespace minidynamo {

// Calls the method of the nearest base that is no Python class. `keyword_names`: a tuple of the names of the last
// arguments. Null with a Python error: there is none, or it raised.
Ref call_native_method(PyObject* object, PyObject* name, std::initializer_list<PyObject*> arguments = {},
                       PyObject* keyword_names = nullptr);
Ref call_native_method(PyObject* object, const char* name, std::initializer_list<PyObject*> arguments = {});

}  // namespace minidynamo
