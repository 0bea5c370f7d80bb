# graphs: 1
"""The class is made in the call."""

import torch
from torch.autograd import Function


def f(x, factor):
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x):
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * factor * 2

    return Scaled.apply(x)


def inputs():
    torch.manual_seed(0)
    return torch.randn(2, 3, requires_grad=True), 3.0
