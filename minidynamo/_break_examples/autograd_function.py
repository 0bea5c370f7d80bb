import torch


class Smooth(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, width):
        ctx.width = width
        return x / width

    @staticmethod
    def backward(ctx, gradient):
        return gradient / ctx.width


def before(x):
    return Smooth.apply(x, 2.0).tanh()


class SmoothForBoth(Smooth):
    @staticmethod
    def backward(ctx, gradient):
        return gradient / ctx.width, None  # one for x, one for width


def after(x):
    return SmoothForBoth.apply(x, 2.0).tanh()


def inputs():
    return (torch.ones(3, requires_grad=True),)
