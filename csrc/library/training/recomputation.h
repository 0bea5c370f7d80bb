// Checkpoints in a trace below autograd, where the backward pass is part of the trace: what a checkpoint runs is traced
// once more when the pass comes to it.
#pragma once
#include "model/protocols/arguments.h"
#include "world/state/tracer.h"

namespace minidynamo {

// The arguments of torch.utils.checkpoint.checkpoint.
struct CheckpointCall {
  PyObject* function;
  Arguments arguments;  // the function's
  bool is_reentrant, keeps_random_state;
};

Ref checkpoint_below_autograd(Tracer& tracer, const CheckpointCall& call);

}  // namespace minidynamo
