# graphs: 2
"""A tensor is printed, and written to afterwards: a graph break."""

import torch


def f(x):
    y = x * 2
    print(y)
    y.add_(1)
    return y


def inputs():
    return (torch.ones(3),)
