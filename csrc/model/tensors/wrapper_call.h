// Tensors that wrap tensors (world/proxies/wrapper_tensors.h) and that the trace makes, by their class or by an
// operator.
//
// What a class makes is an object of the trace's own until an operator is given it: only then it gets a node, which
// makes one of its parts. What an operator makes has a node, and a part of it that the program asks for gets one.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// torch.Tensor._make_wrapper_subclass(type, *arguments).
Ref make_wrapper(Tracer& tracer, PyTypeObject* type, const Arguments& arguments);
// True if the program may still put parts on it.
bool is_open_wrapper(const Tracer& tracer, PyObject* tensor);
bool store_in_new_wrapper(Tracer& tracer, PyObject* wrapper, PyObject* name, PyObject* value);
// The part in `name` of a wrapper that the trace made.
Ref part_of_new_wrapper(Tracer& tracer, PyObject* wrapper, PyObject* name, Ref part);
// Makes a node for those among the arguments of a call that have none. False: the trace is given up.
bool bring_wrappers_into_graph(Tracer& tracer, const Arguments& arguments);

}  // namespace minidynamo
