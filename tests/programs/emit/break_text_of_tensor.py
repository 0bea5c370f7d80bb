# graphs: 3
"""str and repr of a tensor are kept as text."""

import torch


def f(x):
    y = x * 2
    short, long = str(y), repr(y[0])
    return y + 1, short, long


def inputs():
    return (torch.tensor([1.0, 2.0]),)
