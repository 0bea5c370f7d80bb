# graphs: 1
"""Views of an input and of an intermediate tensor in the result share storage."""

import torch


def f(x):
    y = x * 2
    return x[0], y, y.view(-1), y.t(), x.view(-1)


def inputs():
    return (torch.randn(2, 3),)
