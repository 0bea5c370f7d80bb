// torch.Generator, and the functions that draw from one.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

// torch.rand(3, generator=g) and its like; without a generator, or with other arguments than numbers, as any function
// on tensors.
Ref draw_from_generator(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref make_generator(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref generator_manual_seed(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref generator_initial_seed(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
