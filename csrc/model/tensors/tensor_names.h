// The table of what a trace knows of torch.Tensor's attributes and methods by their names: tensor_names.def.
#pragma once
#include "python/ref.h"
#include "tensor/fake/tensor_facts.h"

namespace minidynamo {

struct TensorName {
  enum class How : uint8_t {
    Metadata,          // the fake has it, and the guard of every tensor compares what it depends on
    Fact,              // asked of the real tensor, and guarded by itself
    Leaf,              // is_leaf: as Metadata, unless asking makes a history
    GradientFunction,  // grad_fn: only that there is none
    Base,              // _base: only that there is none, or one that the graph knows
    Values,            // told by values, where the trace knows them; where not, the dispatcher refuses
    Operators,         // makes tensors by operators, which the trace sees
  };
  const char* name;
  How how;
  TensorFact fact = TensorFact::StorageOffset;
};

// The row of a name (str); null if there is none.
const TensorName* find_tensor_name(PyObject* name);
// True if calling a method or function of this name does nothing but what operators do.
bool is_made_of_operators(PyObject* name);

}  // namespace minidynamo
