# graphs: 1
"""A custom operator that writes into its argument."""

import torch


@torch.library.custom_op("minidynamo_programs::increment", mutates_args=("x",))
def increment(x: torch.Tensor, by: int) -> None:
    x.add_(by)


def f(x):
    y = x.clone()
    increment(y, 3)
    increment(x, 1)
    return y * 2


def inputs():
    return (torch.randn(3),)
