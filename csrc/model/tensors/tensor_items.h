// A tensor as a container: its items, membership and length.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

int tensor_contains(Tracer& tracer, PyObject* tensor, PyObject* item);  // 1, 0, or -1 on failure
Ref tensor_subscript(Tracer& tracer, PyObject* tensor, PyObject* key);
bool store_tensor_subscript(Tracer& tracer, PyObject* tensor, PyObject* key, PyObject* value);  // value null: delete
Ref tensor_length(Tracer& tracer, PyObject* tensor);
Ref iterator_of_tensor(Tracer& tracer, PyObject* tensor);

}  // namespace minidynamo
