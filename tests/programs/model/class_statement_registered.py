# graphs: 2
"""A class that a hook of its base puts into an outside registry, and one that goes into an outside list and comes out again."""

import torch

known = []


class Plugin:
    def __init_subclass__(cls):
        known.append(cls)


class Base:
    pass


def f(x):
    y = x.sin()

    class Passing(Base):
        scale = 2

    known.append(Passing)
    y = y * known.pop().scale

    class Staying(Plugin):
        scale = 3

    z = y * Staying.scale
    return z, [cls.__name__ for cls in known], len(Base.__subclasses__()) >= 0


def inputs():
    return (torch.randn(2),)


calls = [inputs]
