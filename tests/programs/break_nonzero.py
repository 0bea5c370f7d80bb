# graphs: 2
"""The shape of nonzero's result depends on data."""

import torch


def f(x):
    positive = x.relu()
    places = positive.nonzero()
    return places.float().mean(0), places.shape


def inputs():
    return (torch.tensor([[1.0, -1.0], [2.0, 0.0]]),)
