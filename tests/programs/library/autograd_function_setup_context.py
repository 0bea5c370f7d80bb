# graphs: 1
"""forward without a ctx, and setup_context; defaults of forward are filled in."""

import torch
from torch.autograd import Function


class Scale(Function):
    @staticmethod
    def forward(x, factor=2.0):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, factor = inputs
        ctx.save_for_backward(x, output)
        ctx.factor = factor

    @staticmethod
    def backward(ctx, grad):
        x, output = ctx.saved_tensors
        return grad * ctx.factor + x + output, None


def f(x):
    return Scale.apply(x, 3.0) - 1


def inputs():
    torch.manual_seed(0)
    return (torch.randn(2, 3, requires_grad=True),)
