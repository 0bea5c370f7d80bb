# graphs: 1
"""Shape arithmetic: sizes are Python integers with everything that they can do."""

import math

import torch


def f(x):
    batch, length, dim = x.shape
    half = dim // 2
    heads = max(1, min(4, dim // 4))
    y = x.reshape(batch * length, heads, -1)[..., : half // heads or 1]
    total = math.prod(x.shape) / x.numel()
    return y * total + x.size(0) ** 2, x.shape[-2:], list(x.size()), len(x), torch.Size([1]) + x.shape


def inputs():
    return (torch.randn(2, 3, 8),)
