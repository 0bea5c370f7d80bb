# graphs: 1
"""__new__ that chooses the class and passes state on."""

import torch


class Number:
    def __new__(cls, value):
        kind = Negative if value < 0 else cls
        made = object.__new__(kind)
        made.value = abs(value)
        return made

    def apply(self, x):
        return x * self.value


class Negative(Number):
    def apply(self, x):
        return -super().apply(x)


def f(x):
    return Number(3).apply(x), Number(-2).apply(x), type(Number(-1)).__name__


def inputs():
    return (torch.randn(2),)
