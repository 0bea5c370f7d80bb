# graphs: 1
"""hessian of a scalar function."""

import torch


def f(x):
    return torch.func.hessian(lambda y: (y**3).sum() * y[0])(x[1])

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
