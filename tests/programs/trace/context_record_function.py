# graphs: 1
"""Ranges of a profiler, one inside the other and one as a decorator."""

import torch


@torch.profiler.record_function("layer")
def layer(x):
    return x.relu() + 1


def f(x):
    with torch.profiler.record_function("outer"):
        y = x * 2
        with torch.autograd.profiler.record_function("inner", "argument"):
            y = layer(y)
        z = y.sin()
    return z


def inputs():
    return (torch.randn(2, requires_grad=True),)
