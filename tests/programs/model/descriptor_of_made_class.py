# graphs: 1
"""Descriptors of type are called by hand on a class that the call makes, and then sets attributes of."""

import torch

order_of = type.__dict__["__mro__"].__get__
names_of = type.__dict__["__dict__"].__get__


def f(x):
    class Local:
        size = 2

    order = [entry.__name__ for entry in order_of(Local)]
    found = "size" in names_of(Local)
    Local.size = 3
    Local.__doc__ = "made here"
    return x * Local.size, order, found, Local.__doc__


def inputs():
    return (torch.ones(3),)
