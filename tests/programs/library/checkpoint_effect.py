# graphs: 2
"""What a checkpoint changes besides computing is changed again in the backward pass: it runs uncaptured."""

import torch
from torch.utils.checkpoint import checkpoint

seen = []


def body(x):
    seen.append("body")
    return x.exp()


def f(x):
    y = x * 2
    y = checkpoint(body, y, use_reentrant=False)
    return y.sin()


def inputs():
    return (torch.ones(3, requires_grad=True),)
