# graphs: 1
"""torch.vmap over rows."""

import torch


def f(x):
    return torch.vmap(lambda row: (row * row).sum())(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
