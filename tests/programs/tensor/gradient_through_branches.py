# graphs: 1
"""Gradients through several outputs, one input used twice, one not at all."""

import torch


def f(x, y, z):
    a = (x * y).sum()
    b = torch.tanh(x).mean(dim=0)
    return a, {"b": b}, z.shape


def inputs():
    return tuple(torch.randn(2, 3, requires_grad=True) for _ in range(3))
