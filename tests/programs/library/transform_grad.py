# graphs: 1
"""torch.func.grad of a function with a closure."""

import torch


def f(x):
    weight = x.sin()
    return torch.func.grad(lambda y: (y * y * weight).sum())(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
