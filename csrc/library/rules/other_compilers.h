// Callables that other tools have made of a program's functions, called from a captured one: what minidynamo and
// torch.compile wrapped is traced through, a function that TorchScript compiled is one node of the graph.
#pragma once
#include "model/protocols/rule.h"

namespace minidynamo {

// The rule for a callable by its type, or by torch.compile's marks; null: it is no such thing.
const Rule* rule_of_wrapper() noexcept;          // an object of ours with a `__wrapped__`
const Rule* rule_of_compiled() noexcept;         // a function that torch.compile made
const Rule* rule_of_script(PyTypeObject* type);  // torch.jit's functions and modules

}  // namespace minidynamo
