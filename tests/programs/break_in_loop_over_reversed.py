# graphs: 4
"""Sizes are walked from the last to the first."""

import torch


def f(x, sizes):
    outputs = []
    for size in reversed(sizes):
        outputs.append(x[:size].sum())
        print("size", size)
    return torch.stack(outputs)


def inputs():
    return torch.randn(5), [2, 3, 5]
