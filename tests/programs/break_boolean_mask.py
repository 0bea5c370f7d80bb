# graphs: 2
"""A mask picks as many elements as it has ones."""

import torch


def f(x, threshold):
    chosen = x[x > threshold]
    return chosen.sum() / chosen.numel(), chosen.shape[0]


def inputs():
    return torch.arange(6.0), 2
