// Checkpoints in a trace below autograd, where the backward pass is part of the trace: what a checkpoint runs is traced
// once more when the pass comes to it.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo {

// What torch.utils.checkpoint.checkpoint was given.
struct CheckpointCall {
  PyObject* function;
  Arguments arguments;  // of the function
  bool is_reentrant, keeps_random_state;
};

Ref checkpoint_below_autograd(Tracer& tracer, const CheckpointCall& call);

}  // namespace minidynamo

namespace minidynamo::handlers {

// minidynamo._checkpoint.is_checkpoint_valid(): whether the engine gives gradients to all that there are.
Ref is_checkpoint_valid(Tracer& tracer, PyObject* callable, const Arguments& arguments);
// minidynamo._checkpoint.random_position() and go_to_random_position(position): a place in the stream of random
// numbers.
Ref random_position(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref go_to_random_position(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
