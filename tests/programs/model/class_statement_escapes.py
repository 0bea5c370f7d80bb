# graphs: 2
"""A class that the caller gets, or that lives on in an instance or a registry, is defined in Python."""

import torch

registry = {}


def f(x):
    y = x + 1

    class Kept:
        def apply(self, t):
            return t * 2

    registry["kept"] = Kept.__name__
    return Kept().apply(y), Kept


def inputs():
    return (torch.randn(2),)


calls = [inputs]
