# graphs: 1
"""Copies of an outside property hold its very functions."""

import torch


class Point:
    def __init__(self, width):
        self.width = width

    @property
    def area(self):
        """The area."""
        return self.width**2

    @area.setter
    def area(self, value):
        self.width = value**0.5


def f(x, p):
    same = Point.area.setter(None)
    other = Point.area.getter(lambda self: self.width + 1)
    return same.fset, same.fget, other.fset, x * other.fget(p), other.fget is Point.area.fget, same.__get__(p), same


def inputs():
    return torch.randn(2), Point(3)
