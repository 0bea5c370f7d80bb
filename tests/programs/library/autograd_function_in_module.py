# graphs: 1
"""A function in a module, twice, and in a checkpoint."""

import torch
from torch.autograd import Function
from torch.utils.checkpoint import checkpoint


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * grad


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return Cube.apply(x * self.weight)


block = Block()


def f(x):
    return checkpoint(block, block(x), use_reentrant=False)


def inputs():
    torch.manual_seed(0)
    return (torch.randn(2, 3, requires_grad=True),)
