# graphs: 1
"""slice objects, negative steps, slice.indices."""

import torch


def f(x):
    window = slice(1, None, 2)
    values = list(range(10))
    return x[window], values[window], values[::-3], window.indices(7), x[..., :2]


def inputs():
    return (torch.randn(5),)
