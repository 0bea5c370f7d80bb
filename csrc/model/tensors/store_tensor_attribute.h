// Setting attributes of tensors: the program's own, and those of torch's.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// One that torch defines by a descriptor.
bool store_described_attribute(Tracer& tracer, PyObject* tensor, PyObject* descriptor, PyObject* name, PyObject* value);
// A null value is a deletion.
bool store_tensor_attribute(Tracer& tracer, PyObject* tensor, PyObject* name, PyObject* value);

}  // namespace minidynamo
