# graphs: 1
"""Tuples: concatenation, repetition, slices, comparison, index, count, unpacking with star."""

import torch


def f(x):
    t = (1, 2) + (3,) * 2
    first, *middle, last = t
    (a, b), c = (x, x + 1), x + 2
    return a + b * c + t.index(3) + t.count(3), t[1:], t < (2,), middle, last, first


def inputs():
    return (torch.randn(2),)
