# graphs: 1
# whole: no
"""A shape error of a tensor operation is caught."""

import torch


def f(x, y):
    try:
        z = x @ y
    except RuntimeError:
        z = x @ y.T
    return z


def inputs():
    return torch.randn(2, 3), torch.randn(4, 3)
