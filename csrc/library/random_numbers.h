// Generators of random numbers of Python's `random`.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

// Methods of _random.Random, on which all others of random.Random are built.
Ref generator_seed(Tracer& tracer, PyObject* method, const Arguments& arguments);
Ref generator_set_state(Tracer& tracer, PyObject* method, const Arguments& arguments);
Ref generator_get_state(Tracer& tracer, PyObject* method, const Arguments& arguments);
Ref generator_draw(Tracer& tracer, PyObject* method, const Arguments& arguments);
// Methods of random.Random that give floats.
Ref generator_draw_int(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref generator_draw_float(Tracer& tracer, PyObject* method, const Arguments& arguments);

}  // namespace minidynamo::handlers
