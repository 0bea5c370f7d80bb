// The callable that residual code calls in place of a compiled graph that writes to tensors: it corrects their version
// counters.
//
// A write through `x.data` does not count as a write to x, and a compiler writes once where a program writes often.
// Autograd compares these counts between a forward and its backward pass, and a program may read them. Results are left
// alone: a tensor that the compiler has saved for a backward pass may be one of them.
#pragma once
#include "plan/exit.h"
#include "python/ref.h"
#include "world/state/tracer.h"

namespace minidynamo {

// `compiled` itself if the graph writes to nothing that counts.
Ref counting_callable(Ref compiled, const Tracer& tracer, const Exit& exit);

}  // namespace minidynamo
