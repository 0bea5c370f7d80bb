# graphs: 1
"""functools.lru_cache around a function without tensors; its body counts how often it ran."""

import functools

import torch

RUNS = []


@functools.lru_cache(maxsize=None)
def table(width):
    RUNS.append(width)
    return [2**k for k in range(width)]


table(3)


def f(x):
    return x * table(3)[-1] + len(table(3))


def inputs():
    return (torch.randn(2),)
