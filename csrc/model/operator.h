// Operators, truth, subscription and iteration on in-trace objects.
#pragma once
#include "world/tracer.h"

namespace minidynamo {

// CPython's NB_* number of an operator by its name in the operator module ("add", "iadd"); -1: none.
int binary_operator_named(const char* name) noexcept;
// Py_LT... by such a name; -1: none.
int comparison_named(const char* name) noexcept;

int truth(Tracer& tracer, PyObject* object);  // 1, 0, or -1 on failure
Ref unary_operation(Tracer& tracer, Op op, PyObject* operand);
Ref binary_operation(Tracer& tracer, int number, PyObject* left,
                     PyObject* right);                                         // number: CPython's NB_* of BINARY_OP
Ref compare(Tracer& tracer, int comparison, PyObject* left, PyObject* right);  // Py_LT...
int contains(Tracer& tracer, PyObject* container, PyObject* item);
Ref is_same(Tracer& tracer, PyObject* left, PyObject* right);

Ref subscript(Tracer& tracer, PyObject* container, PyObject* key);
bool store_subscript(Tracer& tracer, PyObject* container, PyObject* key, PyObject* value);  // value null: delete
Ref length(Tracer& tracer, PyObject* object);

Ref iterator_of(Tracer& tracer, PyObject* iterable);
// The next item; null Ref without a Python error: exhausted.
Ref next_item(Tracer& tracer, PyObject* iterator);
// The same, with the StopIteration that ended it, if there was one: it may hold a value.
Ref next_or_stop(Tracer& tracer, PyObject* iterator);

// Whether the text of an object (str, repr) has an address in it, which is another at the next run.
bool shows_address(PyObject* object);
// Whether native code may turn an object into text; false ends the trace.
bool may_become_text(Tracer& tracer, PyObject* object);
// Ends the trace: an object that can only be passed on is used. False.
bool use_opaque(Tracer& tracer, PyObject* object);
// Makes an object fit for native code: stand-ins filled.
bool expose(Tracer& tracer, PyObject* object);
// Native code is about to compare objects that a value is or holds, which goes by identity first: those from outside
// must be different at the next call too.
void tell_apart(Tracer& tracer, PyObject* object);
// The object is looked up in a dict or set. If that goes by its identity: in an outside container it must be the same
// at the next call, in one that the trace made it must be none of the others.
void guard_as_key(Tracer& tracer, PyObject* container, PyObject* key);
// What native code returned: real tensors are replaced by what stands for them, unknown ones end the trace. Null stays
// null.
Ref adopt_result(Tracer& tracer, Ref result);

}  // namespace minidynamo
