# graphs: 3
"""masked_select and repeat_interleave give shapes that depend on data, and Python counts up to them."""

import torch


def f(x, counts):
    picked = torch.masked_select(x * 2, x > 1)
    for _ in range(picked.shape[0]):
        picked = picked + 1
    repeated = torch.repeat_interleave(picked, counts)
    for _ in range(len(repeated)):
        repeated = repeated * 2
    return repeated - repeated.mean(), repeated.shape


def inputs():
    return torch.tensor([0.0, 2.0, 3.0]), torch.tensor([2, 1])
