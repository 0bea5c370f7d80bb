# graphs: 3
"""What isinstance says of an abstract base class follows what the class is given later: a __subclasshook__, a __subclasscheck__."""

import abc

import torch


class Shape(abc.ABC):
    pass


class Square:
    pass


square = Square()
Shape.register(Square)


def f(x):
    if isinstance(square, Shape):
        return x.sin()
    return x.cos()


def inputs():
    return (torch.randn(2),)


def hooked():
    Shape.__subclasshook__ = classmethod(lambda cls, other: False)
    return inputs()


def unhooked():
    del Shape.__subclasshook__
    Shape.register(int)  # forget the answers
    return inputs()


def checked():
    Shape.__subclasscheck__ = staticmethod(lambda other: other is not Square)
    return inputs()


def raising():
    Shape.__subclasscheck__ = lambda cls, other: True
    return inputs()


calls = [inputs, hooked, unhooked, checked, raising, inputs]
