# graphs: 1
"""A nested comprehension that reads variables of the function around it."""

import torch


def f(x, n):
    offset = 10
    return [[x + offset + i * j for j in range(n)] for i in range(n)]


def inputs():
    return torch.randn(2), 2
