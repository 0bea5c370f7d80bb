# graphs: 2
"""A property prints when it is read, and its setter when it is written."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Rate:
    def __init__(self):
        self._value = 2

    @property
    def value(self):
        say("read", self._value)
        return self._value

    @value.setter
    def value(self, new):
        say("write", new)
        self._value = new


def f(x):
    rate = Rate()
    y = x + 1
    rate.value += 3
    return y * rate.value


def inputs():
    return (torch.randn(2),)
