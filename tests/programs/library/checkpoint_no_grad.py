# graphs: 2
"""Without gradients, a checkpoint is a call of its function, and may do whatever a function may do."""

import torch
from torch.utils.checkpoint import checkpoint

seen = []


def body(x):
    seen.append(x.shape[0])
    return x.exp()


def f(x):
    with torch.no_grad():
        y = checkpoint(body, x, use_reentrant=False)
    return y + len(seen)


def inputs():
    return (torch.ones(3, requires_grad=True),)
