# graphs: 1
"""Other values in tensors of the same shape use the same graph."""

import torch


def f(x, y):
    return (x * y).softmax(-1)


def inputs():
    return torch.randn(2, 3), torch.randn(3)


def zeros():
    return torch.zeros(2, 3), torch.ones(3)


calls = [inputs, zeros, inputs]
