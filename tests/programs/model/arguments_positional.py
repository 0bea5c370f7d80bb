# graphs: 1
"""Positional arguments, tensors and numbers mixed."""

import torch


def f(x, scale, y, shift):
    return x * scale + y - shift


def inputs():
    return torch.randn(2, 3), 2, torch.randn(3), 0.5
