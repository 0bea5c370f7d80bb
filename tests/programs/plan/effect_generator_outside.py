# graphs: 2
"""A generator made outside gives tensors to the captured function, until it is exhausted."""

import torch


def batches():
    for index in range(2):
        yield torch.full((2,), float(index))


LOADER = batches()


def f(x, loader):
    first = next(loader)
    y = x + first
    second = next(loader)
    return y * second, next(loader, None) is None


def inputs():
    return torch.ones(2), LOADER


calls = [inputs]
