# graphs: 2
"""A mask picks as many elements as it has ones, which decides what comes next."""

import torch


def f(x, threshold):
    chosen = x[x > threshold]
    if chosen.shape[0] > threshold:
        chosen = chosen * 2
    return chosen.sum() / chosen.numel(), chosen.shape[0]


def inputs():
    return torch.arange(6.0), 2
