# graphs: 1
"""Operators on a list argument: +=, *=, slice assignment, deletion."""

import torch


def f(items, x):
    items += [x * 2, "tail"]
    items[1:2] = [7, 8, 9]
    del items[0]
    items *= 2
    items[-1] = None
    return len(items)


def inputs():
    return [1, 2, 3], torch.randn(2)
