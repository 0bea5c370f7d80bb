// Calls of torch's functions that an override may answer: a TorchFunctionMode that is active, or an argument
// with a __torch_function__. Their methods are code of the program's, which is traced; what they call in their turn
// becomes nodes.
#pragma once
#include <optional>

#include "graph/graph.h"
#include "model/protocols/arguments.h"
#include "model/protocols/rule.h"
#include "world/state/tracer.h"

namespace minidynamo {

// True if the object has a __torch_function__ that torch calls.
bool has_override(PyObject* object);
// True if an override may answer a call with these arguments, as things are in the trace.
bool may_be_overridden(const Tracer& tracer, const Arguments& arguments);
bool may_be_overridden(const Tracer& tracer, PyObject* tensor);

// The overrides' answer to target(*arguments); for CallMethod, target is a method's name and arguments[0] the tensor.
// Nothing: no override answers, and the call goes on as any other. A null Ref: a Python error, or the trace is given
// up.
std::optional<Ref> overridden_call(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments);
// The same for a call that has a rule: only such as torch itself leaves to overrides.
std::optional<Ref> overridden_rule(Tracer& tracer, const Rule& rule, PyObject* callable, const Arguments& arguments);
// For a tensor's method that the program calls by an operator or a builtin: len(x), `y in x`, bool(x).
std::optional<Ref> overridden_method(Tracer& tracer, const char* name, std::initializer_list<Ref> operands);
// Asks a tensor for its number of items, as making a list of it does. False on failure.
bool ask_length_hint(Tracer& tracer, PyObject* iterable);
// The answer to reading an attribute that torch computes, by its descriptor; for the second, to setting it.
std::optional<Ref> overridden_attribute(Tracer& tracer, PyObject* tensor, PyObject* descriptor);
std::optional<Ref> overridden_store(Tracer& tracer, PyObject* tensor, PyObject* descriptor, PyObject* value);

}  // namespace minidynamo
