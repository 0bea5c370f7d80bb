# graphs: 1
"""A backward that cannot be differentiated, with needs_input_grad."""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return (grad @ b.t() if ctx.needs_input_grad[0] else None), (a.t() @ grad if ctx.needs_input_grad[1] else None)


def f(x):
    return Product.apply(x, x.t()), Product.apply(x, x.detach().t())


def inputs():
    torch.manual_seed(0)
    return (torch.randn(2, 3, requires_grad=True),)
