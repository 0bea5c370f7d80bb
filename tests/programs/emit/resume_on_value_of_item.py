# graphs: 3
"""The number read from a tensor differs between calls, and is a constant of the second graph."""

import torch


def f(x, labels):
    largest = int((labels + 1.0).max().item())
    return x.repeat(largest), largest


def inputs():
    return torch.randn(2), torch.tensor([0, 1])


def more():
    return torch.randn(2), torch.tensor([2, 1])


calls = [inputs, more, inputs]
