// nn.Module.__call__ without its machinery: when no hook has to run, calling a module is calling its forward.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// If `call` is nn.Module.__call__: the Python function that is the module's forward, to be called with the module as
// first argument. Null Ref (no Python error) if it is something else, or a hook is registered on the module or
// globally.
Ref module_forward(PyObject* module, PyObject* call);

}  // namespace minidynamo
