# graphs: 3
"""A backward that changes something does so when it runs."""

import torch
from torch.autograd import Function


count = [0]


class Counted(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        count[0] += 1
        return grad * 2


def f(x):
    y = x + 1
    y = Counted.apply(y)
    return y.sin()


def inputs():
    torch.manual_seed(0)
    return (torch.randn(2, 3, requires_grad=True),)
