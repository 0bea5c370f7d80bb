# graphs: 2
"""float(), int() and bool() of tensors."""

import torch


def f(x):
    y = x * 1.5
    numbers = (float(y[0]), int(y[1]), bool(y[0] > 0))
    return y - numbers[1], numbers


def inputs():
    return (torch.tensor([1.0, 2.5]),)
