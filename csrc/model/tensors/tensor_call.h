// Calls that become graph nodes.
#pragma once

#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

enum class TensorFact : uint8_t;  // tensor/fake/tensor_facts.h

// The steps of record_call(), for calls that are recorded in a way of their own.
std::string target_text(PyObject* target);
Ref execute(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments);
// True if a graph can return this wherever it runs: plain tensors (a __torch_function__ of a class's own is called by
// some that run graphs, and not by others), and no new leaves of autograd (a graph that was made ahead of time returns
// results only). False: the trace is given up, as by the next.
bool can_be_carried(Tracer& tracer, PyObject* target, PyObject* result);
bool record_node(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments, PyObject* result,
                 bool impure);

bool has_fake(PyObject* object);  // a fake, or a tuple, list, dict or slice with one
bool has_fake(const Arguments& arguments);
// True if a node can be given these; what is in containers is seen when it is.
bool can_stand_in_graph(const Arguments& arguments);

// True for the functions that torch's fused optimizers call (torch._fused_adamw_), which other front ends leave out of
// graphs.
bool is_step_of_fused_optimizer(PyObject* target);
// Executes target(*args, **kwargs) natively on fakes and records it as one node; what returns no tensor and changes
// nothing is a constant and leaves no node. For CallMethod, target is the method's
// name and arguments[0] the tensor.
Ref record_call(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments);
// The same for a function of which nothing is known: tensors that it makes or finds itself are its own, and its node
// stays, used or not.
enum class OwnTensors : uint8_t { Taken, Refused };
Ref record_opaque_call(Tracer& tracer, PyObject* target, const Arguments& arguments,
                       OwnTensors own_tensors = OwnTensors::Taken);
Ref record_operator(Tracer& tracer, const char* operator_name, std::initializer_list<PyObject*> operands);
// Changes thread-local torch state (grad mode, autocast): executed, restored when the trace ends, and recorded.
Ref record_state_change(Tracer& tracer, PyObject* target, const Arguments& arguments);

Ref load_tensor_attribute(Tracer& tracer, PyObject* tensor, PyObject* name);
// The same of an attribute that torch defines by a descriptor.
Ref load_described_attribute(Tracer& tracer, PyObject* tensor, PyObject* descriptor, PyObject* name);
// The hooks, of one of the two kinds, of a tensor from before the call: a container or None.
Ref load_hooks(Tracer& tracer, PyObject* tensor, TensorFact fact);
// Guards that no code but Python's runs when autograd stores a tensor's gradient. False: the trace is given up.
bool load_engine_hooks(Tracer& tracer, PyObject* tensor);

}  // namespace minidynamo
