# graphs: 1
"""A hook put on an intermediate doubles its gradient."""

import torch


def f(x):
    y = x * 3
    y.register_hook(lambda gradient: gradient * 2)
    return y.sin()


def inputs():
    return (torch.randn(2, requires_grad=True),)
