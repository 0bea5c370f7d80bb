# graphs: 2
"""resize_ makes a tensor argument smaller between two operations."""

import torch


def f(x, y):
    z = x * 2
    y.resize_(2, 2)
    return z + 1, y.sum()


def inputs():
    return torch.randn(3), torch.ones(6)
