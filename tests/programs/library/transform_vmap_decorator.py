# graphs: 1
"""vmap as a decorator at the level of the module."""

import torch


@torch.vmap
def normalized(row):
    return row / row.norm()


def f(x):
    return normalized(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
