// Operations on values that the trace does not know until the graph has run (world/proxies/runtime_value.h): arithmetic
// and text, for the residual code to do. Any other use that needs such a value ends the trace.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The binary operator with this name in the operator module; at least one operand is a late value, or the right one is
// a tuple with one.
Ref deferred_binary(Tracer& tracer, const char* operator_name, PyObject* left, PyObject* right);
// True if `left % right` makes a text of late values.
bool formats_runtime_values(PyObject* left, PyObject* right);
// As FORMAT_VALUE does it: with a format or, `as_text`, as str() does.
Ref deferred_format(Tracer& tracer, PyObject* value, PyObject* spec, bool as_text);
// The parts of an f-string: strings, at least one of them late.
Ref deferred_join(Tracer& tracer, const std::vector<PyObject*>& parts);
// True if it is the same when the residual code has it: a constant, a late value, a tuple of these.
bool is_constant_or_late(PyObject* object);

}  // namespace minidynamo
