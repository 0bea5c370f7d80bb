# graphs: 1
"""Rotary position embedding with a cache in a dict keyed by shape."""

import torch

CACHE = {}


def frequencies(length, dim):
    key = (length, dim)
    if key not in CACHE:
        inverse = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))
        angles = torch.outer(torch.arange(length).float(), inverse)
        CACHE[key] = torch.cat((angles, angles), dim=-1)
    return CACHE[key]


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def f(x):
    angles = frequencies(x.shape[-2], x.shape[-1])
    return x * angles.cos() + rotate_half(x) * angles.sin()


def inputs():
    return (torch.randn(2, 4, 6),)


calls = [inputs]
