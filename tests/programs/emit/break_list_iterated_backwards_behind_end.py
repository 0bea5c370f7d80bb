# graphs: 3
"""A reversed list that is shorter than where its iterator stands at a graph break, and grows again."""

import torch

KEPT = []


def f(x, items):
    seen = []
    for item in reversed(items):
        seen.append(item)
        items.clear()
        x = x.clamp(-1) - 1
        if x.sum() > 0:
            items[1:] = [item + 1, 7]
    return x, seen, items


def inputs():
    items = [1, 2, 3]
    KEPT[:] = [items]
    return torch.full((2,), 2.5), items
