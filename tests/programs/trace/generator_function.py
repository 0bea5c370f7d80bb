# graphs: 1
"""A generator function consumed by a for loop, next and list."""

import torch


def steps(x, n):
    for i in range(n):
        x = x * 2 + i
        yield x


def f(x):
    total = 0
    for value in steps(x, 3):
        total = total + value
    it = steps(x, 4)
    first = next(it)
    return total, first, list(it), next(it, None)


def inputs():
    return (torch.randn(2),)
