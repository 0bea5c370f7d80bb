# graphs: 1
"""Augmented assignment to numbers makes new ones; to tensors it writes in place."""

import torch


def f(x):
    n = 1
    n += 2
    n *= 3
    n **= 2
    y = x
    y += n
    y /= 2
    return y, y is x, n


def inputs():
    return (torch.randn(3),)
