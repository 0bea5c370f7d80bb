# graphs: 1
"""Operator overloading, reflected and in place, on a class around a tensor."""

import torch


class Dual:
    def __init__(self, value, slope):
        self.value, self.slope = value, slope

    def __add__(self, other):
        if not isinstance(other, Dual):
            return Dual(self.value + other, self.slope)
        return Dual(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __mul__(self, other):
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __neg__(self):
        return Dual(-self.value, -self.slope)

    def __isub__(self, other):
        self.value = self.value - other
        return self


def f(x):
    a = Dual(x, 1.0)
    b = 3 + -(a * a + 2)
    b -= 1
    return b.value, b.slope


def inputs():
    return (torch.randn(3),)
