# graphs: 1
"""get_default_dtype as a constant; results follow it."""

import torch


def f(x):
    return torch.zeros(3, dtype=torch.get_default_dtype()) + x, torch.get_default_dtype()


def inputs():
    return (torch.randn(3),)
