# graphs: 1
"""One list comes by two arguments and an attribute; writes by one name are seen by the others."""

import torch


class Holder:
    def __init__(self, items):
        self.items = items


def f(x, items, same, holder):
    items.append(2)
    holder.items[0] = 5
    same.extend(items)
    return x * len(holder.items), items is holder.items


def inputs():
    items = [1]
    return torch.randn(2), items, items, Holder(items)
