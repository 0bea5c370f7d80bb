# graphs: 1
"""Inner functions with defaults from an intermediate tensor and keyword-only arguments."""

import torch


def f(x):
    y = x.exp()

    def inner(a, b=y, *, c=2):
        return a * b + c

    return inner(x), inner(x, 3, c=y), inner.__defaults__[0] is y


def inputs():
    return (torch.randn(2),)
