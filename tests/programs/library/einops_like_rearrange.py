# graphs: 1
"""Parsing a pattern string to permute and reshape."""

import torch


def rearrange(x, pattern, **sizes):
    left, right = (side.split() for side in pattern.split("->"))
    known = dict(zip(left, x.shape))
    assert all(known[name] == size for name, size in sizes.items())
    y = x.permute([left.index(name) for name in right if name != "1"])
    return y.reshape([known.get(name, 1) for name in right])


def f(x):
    return rearrange(x, "b c h -> h 1 b c", c=3)


def inputs():
    return (torch.randn(2, 3, 4),)
