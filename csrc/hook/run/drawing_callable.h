// The callable that residual code calls in place of a compiled graph that takes random numbers: it draws them first.
#pragma once
#include "plan/exit.h"
#include "python/ref.h"
#include "world/state/tracer.h"

namespace minidynamo {

// `compiled` itself if the graph is given none. Where it is, the inputs are the generators.
Ref drawing_callable(Ref compiled, const Tracer& tracer, const Exit& exit);

}  // namespace minidynamo
