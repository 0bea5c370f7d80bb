# graphs: 3
"""A search stops at the step at which a tensor is small enough: another one in each call."""

import torch


def f(x, limit):
    for _ in range(6):
        x = x / 2
        if x.max() < limit:
            break
    else:
        x = x * 0
    return x + 1


def inputs():
    return torch.tensor([3.0, 2.0]), 1.0


def later():
    return torch.tensor([12.0, 1.0]), 1.0


calls = [inputs, later, inputs]
