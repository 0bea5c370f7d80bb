# graphs: 1
"""What forward returns as it was given is a view of it; the gradient comes in any layout."""

import torch
from torch.autograd import Function


class Reverse(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x

    @staticmethod
    def backward(ctx, grad):
        return -ctx.scale * grad.contiguous().view(-1).view(grad.shape), None


def f(x):
    y = Reverse.apply(x, 0.5)
    return y is x, (y * 2).sum()


def inputs():
    torch.manual_seed(0)
    return (torch.randn(2, 3, requires_grad=True),)
