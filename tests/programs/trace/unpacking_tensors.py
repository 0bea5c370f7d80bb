# graphs: 1
"""Unpacking a tensor, a chunked tuple and a nested pattern."""

import torch


def f(x):
    a, b, c = x
    d, e = x.chunk(2, dim=1)
    (g, h), *_ = [(a, b), c]
    return g + h, c, d * 2, e


def inputs():
    return (torch.randn(3, 4),)
