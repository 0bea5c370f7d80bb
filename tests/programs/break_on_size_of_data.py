# graphs: 3
"""masked_select and repeat_interleave give shapes that depend on data."""

import torch


def f(x, counts):
    picked = torch.masked_select(x * 2, x > 1)
    repeated = torch.repeat_interleave(picked + 1, counts)
    return repeated - repeated.mean(), repeated.shape


def inputs():
    return torch.tensor([0.0, 2.0, 3.0]), torch.tensor([2, 1])
