// The index of a tensor, as torch takes it.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The key for a node: objects with __index__ are the ints that they stand for. What torch takes for something else
// first (it has items, or a __torch_function__) ends the trace. Null: that, or a Python error.
Ref tensor_index(Tracer& tracer, PyObject* key);

}  // namespace minidynamo
