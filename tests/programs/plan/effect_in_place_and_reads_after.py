# graphs: 1
"""A value read before a write to the same tensor differs from one read after it."""

import torch


def f(x):
    before = x + 0
    alias = x
    x.add_(1)
    after = alias + 0
    alias.copy_(before * 2)
    return before, after, x is alias


def inputs():
    return (torch.randn(3),)
