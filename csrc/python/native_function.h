// A C++ function as a Python callable, for residual code and for callbacks.
#pragma once
#include "python/cached.h"

namespace minidynamo {

// Made once per process, borrowed. `flags` say how it is called: METH_O, METH_VARARGS, METH_FASTCALL.
template <int flags, auto function>
PyObject* native_function(const char* name) {
  static PyMethodDef definition = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry<function>)),
                                   flags, nullptr};
  static constinit CachedObject object{[](const char*) { return Ref::made(PyCFunction_New(&definition, nullptr)); }};
  return object;
}

}  // namespace minidynamo
