# graphs: 3
"""A chained comparison of a tensor asks for two truth values."""

import torch


def f(x, low, high):
    total = x.sum()
    if low < total < high:
        return x.exp()
    return x


def inputs():
    return torch.arange(3.0), 0, 10
