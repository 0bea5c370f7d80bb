# graphs: 1
"""The __dict__ of a class: one key, whether it is there, all keys and values, its length, a copy."""

import torch


class Base:
    scale = 2

    def area(self):
        return self.scale**2

    @staticmethod
    def plain(x):
        return x + 1


class Point(Base):
    __slots__ = ("x",)
    offset = 3.0


def f(x):
    own = Point.__dict__
    y = x * Base.__dict__["scale"] + own["offset"] + own.get("scale", 10) + Base.__dict__.get("scale")
    there = "offset" in own, "area" in own, "area" in Base.__dict__
    y = Base.__dict__["plain"].__func__(y) * Base.__dict__["area"](Point())
    names = [name for name in vars(Base) if not name.startswith("__")], len(own) > 3, sorted(own.keys())
    kinds = [type(value) for value in Base.__dict__.values()]
    copied = {name: value for name, value in own.items() if name in ("offset", "__slots__")}
    try:
        own["offset"] = 4
    except TypeError as error:
        text = str(error)
    return y, there, names, kinds, copied, text, own, own is Point.__dict__, own == Point.__dict__


def inputs():
    return (torch.randn(2),)
