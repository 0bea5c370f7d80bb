# graphs: 1
"""A result is kept in an attribute of an argument, and a view of it in another one."""

import torch


class Cache:
    value = None


def f(x, cache):
    cache.value = x.cumsum(0)
    cache.last = cache.value[-1]
    return cache.value * 2


def inputs():
    return torch.randn(3), Cache()
