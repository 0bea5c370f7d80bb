// The index of a tensor, as torch takes it.
#pragma once
#include <optional>

#include "world/state/tracer.h"

namespace minidynamo {

// The key for a node: objects with __index__ are the ints that they stand for. What torch takes for something else
// first (it has items, or a __torch_function__) ends the trace. Null: that, or a Python error.
Ref tensor_index(Tracer& tracer, PyObject* key);

// A tensor of which the dimensions that have a symbolic index have been selected, and the rest of the key: null if
// there is none.
struct SelectedItem {
  Ref tensor;
  Ref rest;
};
// torch would take a symbolic index for the number that it is now. nullopt: the key has none, or more than ints and
// slices. A null tensor: a Python error, or the trace is over.
std::optional<SelectedItem> select_symbolic(Tracer& tracer, PyObject* tensor, PyObject* key);

}  // namespace minidynamo
