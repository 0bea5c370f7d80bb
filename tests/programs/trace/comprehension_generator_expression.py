# graphs: 1
"""Generator expressions given to sum, tuple, any, all."""

import torch


def f(x, sizes):
    total = sum(x * size for size in sizes)
    many = tuple(x - size for size in sizes if size > 1)
    flags = any(size > 2 for size in sizes), all(size > 2 for size in sizes)
    return total, many, flags


def inputs():
    return torch.randn(2), [1, 2, 3]
