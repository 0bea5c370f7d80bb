# graphs: 1
"""A module without parameters made inside the captured function."""

import torch


def f(x):
    layer = torch.nn.LeakyReLU(0.1)
    return layer(x), layer.negative_slope


def inputs():
    return (torch.randn(3),)
