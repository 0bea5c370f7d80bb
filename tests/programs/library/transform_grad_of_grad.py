# graphs: 1
"""Second derivatives by nesting."""

import torch


def f(x):
    first = torch.func.grad(lambda y: (y**3).sum())
    return torch.func.grad(lambda y: first(y).sin().sum())(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
