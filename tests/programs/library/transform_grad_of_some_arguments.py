# graphs: 1
"""argnums: gradients for two of three arguments."""

import torch


def f(x):
    def loss(a, b, c):
        return (a * b + c).sum()

    return torch.func.grad(loss, argnums=(0, 2))(x, x.cos(), x * 2)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
