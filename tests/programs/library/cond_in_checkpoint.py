# graphs: 1
# backends: eager
"""A condition in a checkpoint."""

import torch
from torch.utils.checkpoint import checkpoint


def body(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)) * 2


def f(x):
    return checkpoint(body, x, use_reentrant=False)


def inputs():
    torch.manual_seed(0)
    return (torch.rand(3, 4),)
