# graphs: 1
"""forward writes to its input, marks it as dirty, and returns it."""

import torch
from torch.autograd import Function


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 5


def f(x):
    y = x + 1
    z = Double.apply(y)
    return z is y, z * y


def inputs():
    torch.manual_seed(0)
    return (torch.randn(2, 3, requires_grad=True),)
