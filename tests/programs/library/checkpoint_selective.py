# graphs: 1
# backends: eager
"""A selective checkpoint: what its policy says is kept."""

import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts


def policy(context, operator, *args, **kwargs):
    kept = operator is torch.ops.aten.sin.default
    return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE


def contexts():
    return create_selective_checkpoint_contexts(policy)


def f(x):
    return checkpoint(lambda y: y.sin().exp().cos(), x, use_reentrant=False, context_fn=contexts)


def inputs():
    return (torch.ones(3, requires_grad=True),)
