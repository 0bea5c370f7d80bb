# graphs: 1
"""Properties with getter, setter and deleter."""

import torch


class Scaled:
    def __init__(self, value):
        self._value = value
        self.reads = 0

    @property
    def value(self):
        self.reads += 1
        return self._value * 2

    @value.setter
    def value(self, new):
        self._value = new + 1

    @value.deleter
    def value(self):
        self._value = None


def f(x):
    scaled = Scaled(x)
    a = scaled.value
    scaled.value = a
    b = scaled.value
    del scaled.value
    return a, b, scaled.reads, scaled._value


def inputs():
    return (torch.randn(2),)
