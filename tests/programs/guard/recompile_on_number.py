# graphs: 2
"""Another number makes another graph."""

import torch


def f(x, n):
    for _ in range(n):
        x = x * 2
    return x


def inputs():
    return torch.randn(2), 2


def thrice():
    return torch.randn(2), 3


calls = [inputs, thrice, inputs]
