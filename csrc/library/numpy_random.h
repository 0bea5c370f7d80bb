// Random numbers of NumPy's.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

// A method of numpy.random.RandomState and numpy.random.Generator that gives numbers or an array.
Ref numpy_draw(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref numpy_seed(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
