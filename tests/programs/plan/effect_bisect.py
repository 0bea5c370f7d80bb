# graphs: 1
"""bisect.insort keeps a list argument sorted."""

import bisect

import torch


def f(bounds, x):
    bisect.insort(bounds, 4)
    bisect.insort_left(bounds, 1)
    place = bisect.bisect(bounds, 4)
    return x * place


def inputs():
    return [1, 3, 5], torch.randn(2)
