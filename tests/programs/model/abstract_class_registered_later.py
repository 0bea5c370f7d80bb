# graphs: 2
"""What isinstance and issubclass say of abstract base classes changes when a class is registered between two calls."""

import abc
import collections.abc

import torch


class Shape(abc.ABC):
    pass


class Other(abc.ABC):
    pass


class Square:
    pass


square = Square()


def f(x):
    found = [isinstance(square, Shape), isinstance(square, (int, Shape)), isinstance(square, int | Shape)]
    found += [issubclass(Square, Shape), abc.ABCMeta.__instancecheck__(Shape, square), isinstance(square, collections.abc.Sized)]
    return x + sum(found), found


def inputs():
    return (torch.randn(2),)


def unrelated():
    Other.register(dict)
    return inputs()


def registered():
    Shape.register(Square)
    return inputs()


calls = [inputs, unrelated, registered, inputs]
