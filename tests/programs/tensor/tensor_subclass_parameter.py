# graphs: 1
"""Parameters as plain arguments: their class is kept."""

import torch


def f(weight, x):
    return weight * x, isinstance(weight, torch.nn.Parameter), type(weight).__name__, type(weight * x).__name__


def inputs():
    return torch.nn.Parameter(torch.randn(3)), torch.randn(3)
