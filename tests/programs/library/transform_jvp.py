# graphs: 1
"""jvp with a tangent that is computed."""

import torch


def f(x):
    return torch.func.jvp(lambda y: y.exp().sum(1), (x,), (x.cos(),))

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
