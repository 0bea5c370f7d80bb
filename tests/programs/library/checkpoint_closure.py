# graphs: 1
"""The body of a checkpoint uses tensors of the function around it, of a module and of the globals."""

import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
layer = torch.nn.Linear(4, 4)
bias = torch.ones(4, requires_grad=True)


def f(x):
    y = x.sin()
    factor = 2

    def body(z):
        return {"sum": layer(z) * y + bias, "first": (z * factor)[0]}

    made = checkpoint(body, x, use_reentrant=False)
    return made["sum"] - y, made["first"]


def inputs():
    return (torch.randn(3, 4, requires_grad=True),)
