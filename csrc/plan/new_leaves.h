// Decides what may leave a trace beside a leaf of autograd that the trace made (model/tensors/new_leaf.h): no graph
// makes a history of a tensor that ends there.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// True if what leaves by these nodes can be given without a history from the leaf: whoever has neither the leaf nor a
// hook on it cannot tell.
bool may_lose_leaf(const Tracer& tracer, const std::vector<NodeId>& outputs, PyObject* leaf);
// True if all of a tensor's history ends in leaves of the trace's own, so that to the graph it has none.
bool history_reaches_new_leaf(const Tracer& tracer, PyObject* fake);

}  // namespace minidynamo
