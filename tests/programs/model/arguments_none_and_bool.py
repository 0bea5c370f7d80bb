# graphs: 1
"""None and bool arguments choose the way."""

import torch


def f(x, mask, invert):
    if mask is None:
        return x
    return torch.where(~mask if invert else mask, x, 0.0)


def inputs():
    return torch.randn(3), torch.tensor([True, False, True]), True
