# graphs: 1
"""An in-place operation on a non-leaf that is part of the graph."""

import torch


def f(x):
    y = x * 2
    y[0] = y[1].exp()
    y.mul_(x)
    return y.sum()


def inputs():
    return (torch.randn(3, requires_grad=True),)
