# graphs: 1
"""Every mutating list method, on a list made inside."""

import torch


def f(x):
    items = [x]
    items.append(x + 1)
    items.extend((x + 2, x + 3))
    items.insert(1, x * 10)
    popped = items.pop(0)
    items.reverse()
    del items[0]
    items[0] = popped
    items[1:2] = [x, x]
    copied = items.copy()
    items.clear()
    return copied, items, len(copied)


def inputs():
    return (torch.randn(2),)
