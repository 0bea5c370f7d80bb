# graphs: 1
"""Factory functions with shapes, dtypes and likes."""

import torch


def f(x):
    return (
        torch.zeros(2, 3) + torch.ones((3,)),
        torch.full_like(x, 7.0) + torch.zeros_like(x) + torch.ones_like(x, dtype=torch.float64),
        torch.arange(0, 6, 2) * torch.arange(3),
        torch.linspace(0, 1, 5) + torch.eye(5)[0],
        x.new_zeros(2) + x.new_full((2,), 3) + x.new_ones(1),
        torch.full((2, 2), True),
        torch.empty(3).fill_(2.0),
        torch.tril(torch.ones(3, 3, dtype=torch.bool), diagonal=-1),
    )


def inputs():
    return (torch.randn(3),)
