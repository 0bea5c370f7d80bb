# graphs: 1
"""In-place operators and methods change a tensor argument; the caller sees it."""

import torch


def f(x, mask):
    x += 1
    x.mul_(2)
    x[mask.shape[0] - 1] = 0
    x.clamp_(min=-1)
    mask.logical_not_()
    return x.sum()


def inputs():
    return torch.randn(3), torch.tensor([True, False])
