# graphs: 1
"""A tensor made in the body is written to."""

import torch


def f(x):
    def loss(y):
        total = torch.tensor([1.0, 2.0, 3.0])
        total += y[0]
        return (total * y).sum()

    return torch.func.grad(loss)(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
