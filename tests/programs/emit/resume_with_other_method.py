# graphs: 3
"""Objects of two classes come after the break; each has its own method."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Relu:
    def apply(self, x):
        return x.relu()


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        return x * self.factor


def f(x, activation):
    y = x - 1
    say("applying")
    return activation.apply(y) + 1


def inputs():
    return torch.randn(2), Relu()


def scaled():
    return torch.randn(2), Scale(3)


calls = [inputs, scaled, inputs]
