# graphs: 1
"""A function with one result needs no gradient to be made up."""

import torch
from torch.autograd import Function


class Half(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x / 2

    @staticmethod
    def backward(ctx, grad):
        return None if grad is None else grad / 3


def f(x):
    return Half.apply(x) + x


def inputs():
    torch.manual_seed(0)
    return (torch.randn(2, 3, requires_grad=True),)
