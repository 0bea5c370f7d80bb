# graphs: 1
"""A warning of the default category at its own line."""

import warnings

import torch


def f(x, rate):
    y = x * rate
    if rate > 1:
        warnings.warn(f"rate {rate} is above one")
    return y.clamp(max=2)


def inputs():
    return torch.randn(3), 1.5
