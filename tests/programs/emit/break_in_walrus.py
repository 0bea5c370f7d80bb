# graphs: 2
"""An assignment expression in a condition reads a tensor."""

import torch


def f(x):
    if (top := (x * 2).max().item()) > 3:
        x = x / top
    while (length := int(x.norm() * 0) + 1) > 1:
        x = x / length
    return x, top, length


def inputs():
    return (torch.tensor([1.0, 2.0]),)
