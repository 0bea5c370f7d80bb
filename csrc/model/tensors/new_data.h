// tensor.data = other: the tensor has another's memory from then on.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// False: an error is set, or the trace is given up.
bool set_data(Tracer& tracer, PyObject* tensor, PyObject* value);

}  // namespace minidynamo
