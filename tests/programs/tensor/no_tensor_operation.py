# graphs: 0
"""A function that computes nothing with tensors makes no graph, and its result is right."""

import torch


def f(x, n):
    return [x, n * 2, x.shape]


def inputs():
    return torch.randn(2, 3), 4
