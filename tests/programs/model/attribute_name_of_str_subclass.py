# graphs: 2
"""An attribute's name is of a subclass of str: the __dict__ keeps it as it is, and it is read by the plain name."""

import torch


class Name(str):
    __slots__ = ()


class Holder:
    pass


NAME = Name("value")


def f(x, holder):
    y = x * 3
    setattr(holder, NAME, y + 1)
    first = holder.value
    holder.value = 2
    kinds = [type(key).__name__ for key in holder.__dict__]
    return first * 2, kinds, getattr(holder, NAME), hasattr(holder, NAME)


def inputs():
    return torch.ones(2), Holder()
