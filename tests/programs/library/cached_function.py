# graphs: 1
"""functools.lru_cache and functools.cache on Python values."""

import functools

import torch


@functools.lru_cache(maxsize=None)
def triangle(n):
    return 0 if n == 0 else n + triangle(n - 1)


def f(x):
    return x * triangle(10) + triangle(3)


def inputs():
    return (torch.randn(2),)


calls = [inputs]
