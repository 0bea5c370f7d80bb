import torch


class Smooth(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, width):
        ctx.width = width
        return (x / width).tanh()

    @staticmethod
    def backward(ctx, gradient):
        return gradient / ctx.width


def before(x):
    return Smooth.apply(x, 2.0)


class SmoothWithAllGradients(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, width):
        ctx.width = width
        return (x / width).tanh()

    @staticmethod
    def backward(ctx, gradient):
        return gradient / ctx.width, None


def after(x):
    return SmoothWithAllGradients.apply(x, 2.0)


def inputs():
    return (torch.ones(3, requires_grad=True),)
