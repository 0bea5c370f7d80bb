// What residual code calls in place of a compiled graph that writes to tensors: puts right how often they count to have
// been written to.
//
// A write through `x.data` is none that x counts, and a compiler writes once where a program writes often. Autograd
// compares these numbers between a forward and its backward pass, and a program may read them. Results are left alone:
// what the compiler has saved for a backward pass may be one of them.
#pragma once
#include "plan/exit.h"
#include "python/ref.h"
#include "world/state/tracer.h"

namespace minidynamo {

// `compiled` itself if the graph writes to nothing that counts.
Ref counting_callable(Ref compiled, const Tracer& tracer, const Exit& exit);

}  // namespace minidynamo
