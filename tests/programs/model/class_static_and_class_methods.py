# graphs: 1
"""staticmethod, classmethod and alternative constructors."""

import torch


class Shape:
    sides = 0

    def __init__(self, x):
        self.x = x

    @staticmethod
    def twice(x):
        return x * 2

    @classmethod
    def of(cls, x):
        return cls(cls.twice(x) + cls.sides)


class Square(Shape):
    sides = 4


def f(x):
    return Square.of(x).x, Shape.of(x).x, Square(x).twice(x)


def inputs():
    return (torch.randn(2),)
