# graphs: 1
"""forward and backward use tensors that they are not given: of the globals, of a module, of the class."""

import torch
from torch.autograd import Function


layer = torch.nn.Linear(3, 3)
offset = torch.ones(3)


class Layer(Function):
    scale = torch.full((3,), 2.0)

    @staticmethod
    def forward(ctx, x):
        ctx.offset = offset * 2
        return layer(x) + offset

    @staticmethod
    def backward(ctx, grad):
        return grad * Layer.scale + ctx.offset


def f(x):
    return Layer.apply(x) * 2


def inputs():
    torch.manual_seed(0)
    return (torch.randn(2, 3, requires_grad=True),)
