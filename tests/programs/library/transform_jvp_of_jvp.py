# graphs: 1
"""Forward-mode derivatives nested."""

import torch


def f(x):
    def directional(y):
        return torch.func.jvp(torch.sin, (y,), (torch.ones_like(y),))[1]

    return torch.func.jvp(directional, (x,), (x,))

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
