# graphs: 2
"""Reading the __annotations__ of classes that have none of their own puts an empty dict into them."""

import torch


class Base:
    width: int = 2


class Plain(Base):
    pass


class Other:
    pass


def f(x):
    before = list(Other.__dict__)
    found = Plain.__annotations__, Base.__annotations__, Other.__annotations__
    names = "__annotations__" in Plain.__dict__, "__annotations__" in Other.__dict__, len(vars(Other)) - len(before)
    return x * Base.width, found, found[0] is Plain.__annotations__, names, hasattr(Plain(), "__annotations__")


def inputs():
    return (torch.randn(2),)
