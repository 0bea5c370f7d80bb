# graphs: 1
# whole: no
"""A Python attribute on an argument tensor is read and set."""

import torch


def f(x):
    x.seen = x.tag + 1
    return x * x.tag


def inputs():
    x = torch.randn(3)
    x.tag = 4
    return (x,)
