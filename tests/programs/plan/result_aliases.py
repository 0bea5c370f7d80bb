# graphs: 1
"""The same tensor, list and input appear several times in the result."""

import torch


def f(x):
    y = x * 2
    shared = [y]
    return y, shared, shared, x, (y, x)


def inputs():
    return (torch.randn(2),)
