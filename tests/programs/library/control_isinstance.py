# graphs: 1
"""isinstance and type checks on tensors and numbers."""

import torch


def add(a, b):
    if isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor):
        return a + b * 2
    if type(a) is int or isinstance(a, (float, complex)):
        return b - a
    return a * b


def f(x):
    return add(x, 1), add(2, x), add(x, x), add(2.5, x)


def inputs():
    return (torch.randn(3),)
