# graphs: 1
"""sort and sorted with keys and reverse, on Python values that carry tensors along."""

import torch


def f(x):
    items = [(3, x), (1, x + 1), (2, x + 2)]
    items.sort(key=lambda item: item[0])
    names = sorted(["bb", "a", "ccc"], key=len, reverse=True)
    return [tensor for _, tensor in items], names, max(items, key=lambda item: -item[0])[1], min(3, 1, 2)


def inputs():
    return (torch.randn(2),)
