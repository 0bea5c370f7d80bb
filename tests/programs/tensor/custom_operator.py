# graphs: 1
"""torch.library.custom_op with a fake implementation."""

import torch


@torch.library.custom_op("minidynamo_programs::scaled_sum", mutates_args=())
def scaled_sum(x: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.from_numpy(x.numpy().sum(0) * scale)


@scaled_sum.register_fake
def _(x, scale):
    return x.new_empty(x.shape[1:])


def f(x):
    return scaled_sum(x, 2.0) + torch.ops.minidynamo_programs.scaled_sum(x.sin(), 0.5)


def inputs():
    return (torch.randn(4, 3),)
