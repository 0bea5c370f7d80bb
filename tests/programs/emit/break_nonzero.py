# graphs: 2
"""The shape of nonzero's result depends on data, and is put into words."""

import torch


def f(x):
    positive = x.relu()
    places = positive.nonzero()
    words = f"{len(places)} places"
    return places.float().mean(0), places.shape, words


def inputs():
    return (torch.tensor([[1.0, -1.0], [2.0, 0.0]]),)
