# graphs: 1
"""min and max with keys over pairs that carry tensors; sum of tensors with a start."""

import torch


def f(x):
    pairs = [(2, x), (1, x + 1), (3, x + 2)]
    smallest = min(pairs, key=lambda pair: pair[0])
    return smallest[1], max(pairs, key=lambda pair: pair[0])[1], sum((tensor for _, tensor in pairs), torch.zeros(2))


def inputs():
    return (torch.randn(2),)
