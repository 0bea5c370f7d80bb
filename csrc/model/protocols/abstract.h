// The object protocols on in-trace objects, as CPython's Include/abstract.h has them on its own: attributes, calls,
// operators, items, iteration. Each may come to run Python code, so each may need all the others.
#pragma once
#include <initializer_list>

#include "bytecode/instruction.h"
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// attribute.cpp, store_attribute.cpp
Ref load_attribute(Tracer& tracer, PyObject* object, PyObject* name);
// For a call: `self` is null if `callable` is to be called without it. False on failure.
bool load_method(Tracer& tracer, PyObject* object, PyObject* name, Ref& callable, Ref& self);
bool store_attribute(Tracer& tracer, PyObject* object, PyObject* name, PyObject* value);  // value null: delete

// call.cpp
Ref call(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref call(Tracer& tracer, PyObject* callable, std::initializer_list<Ref> positional);
// f(*args, **kwargs); kwargs may be null.
Ref call_with(Tracer& tracer, PyObject* callable, PyObject* args, PyObject* kwargs, bool is_direct = false);

// operator.cpp
int truth(Tracer& tracer, PyObject* object);  // 1, 0, or -1 on failure
Ref unary_operation(Tracer& tracer, Op op, PyObject* operand);
Ref binary_operation(Tracer& tracer, int number, PyObject* left,
                     PyObject* right);                                         // number: CPython's NB_* of BINARY_OP
Ref compare(Tracer& tracer, int comparison, PyObject* left, PyObject* right);  // Py_LT...
Ref is_same(Tracer& tracer, PyObject* left, PyObject* right);

// container.cpp
int contains(Tracer& tracer, PyObject* container, PyObject* item);
Ref subscript(Tracer& tracer, PyObject* container, PyObject* key);
bool store_subscript(Tracer& tracer, PyObject* container, PyObject* key, PyObject* value);  // value null: delete
Ref length(Tracer& tracer, PyObject* object);
Ref checked_length(Ref given);  // the length that len() returns for the result of a __len__

// iteration.cpp
Ref iterator_of(Tracer& tracer, PyObject* iterable);
// The next item; null Ref without a Python error: exhausted.
Ref next_item(Tracer& tracer, PyObject* iterator);
// The same, with the StopIteration that ended it, if there was one: it may hold a value.
Ref next_or_stop(Tracer& tracer, PyObject* iterator);

}  // namespace minidynamo
