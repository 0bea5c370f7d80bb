# graphs: 1
"""type(), is, is not, id comparison through is, issubclass, callable."""

import torch


def f(x):
    y = x
    z = x + 0
    facts = type(x) is torch.Tensor, y is x, z is not x, type(3) == int, issubclass(bool, int), x is None, callable(x.sin)
    return z, facts


def inputs():
    return (torch.randn(2),)
