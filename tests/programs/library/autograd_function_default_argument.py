# graphs: 1
"""setup_context is given the default that forward has for an argument, and an argument that was given by its name."""

import torch


class Power(torch.autograd.Function):
    @staticmethod
    def forward(x, exponent=2, offset=1.0):
        return x**exponent + offset

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, exponent, offset = inputs
        ctx.save_for_backward(x)
        ctx.exponent = exponent
        ctx.offset = offset

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * ctx.exponent * x ** (ctx.exponent - 1) + ctx.offset, None, None


def f(x):
    return Power.apply(x), Power.apply(x, 3), Power.apply(x, offset=4.0)


def inputs():
    return (torch.tensor([1.0, 2.0], requires_grad=True),)
