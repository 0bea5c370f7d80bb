# graphs: 2
"""A statistic is computed by numpy in the middle."""

import torch


def f(x):
    y = x.detach() * 3
    mean = int(y.numpy().mean())
    return (y - mean).abs(), mean


def inputs():
    return (torch.tensor([1.0, 2.0, 6.0]),)
