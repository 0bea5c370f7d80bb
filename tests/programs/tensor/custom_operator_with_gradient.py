# graphs: 1
"""A custom operator with a registered backward."""

import torch


@torch.library.custom_op("minidynamo_programs::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    return x.detach().clone() ** 3


@cube.register_fake
def _(x):
    return torch.empty_like(x)


def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, gradient):
    (x,) = ctx.saved_tensors
    return gradient * 3 * x * x


cube.register_autograd(backward, setup_context=setup_context)


def f(x):
    return cube(x * 2).sum()


def inputs():
    return (torch.randn(3, requires_grad=True),)
