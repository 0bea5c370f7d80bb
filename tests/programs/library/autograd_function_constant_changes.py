# graphs: 2
"""A number that the backward reads changes between the calls."""

import torch
from torch.autograd import Function


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * grad


class Settings:
    def __init__(self, slope):
        self.slope = slope


class Leaky(Function):
    @staticmethod
    def forward(ctx, x, settings):
        ctx.settings = settings
        ctx.save_for_backward(x)
        return x.relu()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad, grad * ctx.settings.slope), None


def f(x, settings):
    return Leaky.apply(x, settings)


def inputs():
    torch.manual_seed(0)
    return torch.randn(2, 3, requires_grad=True), Settings(0.1)


def other():
    torch.manual_seed(0)
    return torch.randn(2, 3, requires_grad=True), Settings(0.5)


calls = [inputs, inputs, other, other]
