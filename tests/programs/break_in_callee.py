# graphs: 2
"""A called function prints between its operations: the whole program has two parts."""

import torch


def layer(x):
    y = x.relu()
    print("layer", y.dim())
    return y * 2


def f(x):
    y = x + 1
    z = layer(y) - y
    return z.sum()


def inputs():
    return (torch.randn(3),)
