# graphs: 1
"""A list argument is changed: the caller sees it."""

import torch


def f(items, x):
    items.append(x * 2)
    items[0] = x
    del items[1]
    return len(items)


def inputs():
    return [1, 2, 3], torch.randn(2)
