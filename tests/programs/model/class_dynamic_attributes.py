# graphs: 1
"""getattr, setattr, hasattr, delattr, vars and type() with computed names."""

import torch


class Bag:
    pass


def f(x):
    bag = Bag()
    for i in range(3):
        setattr(bag, f"item{i}", x + i)
    delattr(bag, "item1")
    total = sum(value for value in vars(bag).values())
    return total, hasattr(bag, "item1"), getattr(bag, "item2"), type(bag).__name__, list(bag.__dict__)


def inputs():
    return (torch.randn(2),)
