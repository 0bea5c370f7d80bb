# graphs: 1
"""Where no gradient is asked for, the forward is traced in place, and may do what it likes."""

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


log = []
weight = torch.ones(3, requires_grad=True)


class Noted(Function):
    @staticmethod
    def forward(ctx, x):
        log.append("forward")
        ctx.save_for_backward(x)
        return x * weight

    @staticmethod
    def backward(ctx, grad):
        log.append("backward")
        return grad


def f(x):
    with torch.no_grad():
        y = Noted.apply(Cube.apply(x))
    z = Noted.apply(y)
    return y, z, z.requires_grad


def inputs():
    log.clear()
    return (torch.ones(3, requires_grad=True),)
