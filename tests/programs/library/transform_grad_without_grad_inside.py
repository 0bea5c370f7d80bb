# graphs: 1
"""no_grad in the body holds within the transform."""

import torch


def f(x):
    def loss(y):
        with torch.no_grad():
            target = y * 2
        return (y * target).sum()

    return torch.func.grad(loss)(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
