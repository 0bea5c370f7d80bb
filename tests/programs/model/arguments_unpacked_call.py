# graphs: 1
"""Calls with * and ** of lists, tuples and dicts, several at once."""

import torch


def g(a, b, c, d, e=0, **more):
    return a + b * c - d + e + more["z"]


def f(x):
    first, second = [x, 2.0], (3.0,)
    return g(*first, *second, x, **{"e": 1.0}, **{"z": x.sin()})


def inputs():
    return (torch.randn(3),)
