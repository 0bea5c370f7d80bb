# graphs: 0
"""A body that returns a number: vmap's own error leaves the call."""

import torch


def f(x):
    return torch.vmap(lambda row: 3)(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
