# graphs: 1
"""vjp, with its function called twice."""

import torch


def f(x):
    output, pull_back = torch.func.vjp(lambda y: (y.sin(), y.cos() * 2), x)
    return output, pull_back(output), pull_back((x, x))

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
