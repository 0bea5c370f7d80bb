# graphs: 4
"""Sizes are walked from the last to the first."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, sizes):
    outputs = []
    for size in reversed(sizes):
        outputs.append(x[:size].sum())
        say("size", size)
    return torch.stack(outputs)


def inputs():
    return torch.randn(5), [2, 3, 5]
