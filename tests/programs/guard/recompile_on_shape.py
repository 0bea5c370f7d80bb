# graphs: 2
"""Another shape makes another graph; the first one is used again afterwards."""

import torch


def f(x):
    return x.reshape(-1) * x.shape[0]


def inputs():
    return (torch.randn(2, 3),)


def wider():
    return (torch.randn(4, 3),)


calls = [inputs, wider, inputs, wider]
