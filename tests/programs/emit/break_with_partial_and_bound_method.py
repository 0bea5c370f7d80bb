# graphs: 2
"""A partial and a bound method made before a break are called after it."""

import functools

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Model:
    def __init__(self, weight):
        self.weight = weight

    def forward(self, x, *, power):
        return (x * self.weight) ** power


def f(x):
    model = Model(x + 1)
    run = model.forward
    squared = functools.partial(run, power=2)
    say("prepared")
    return squared(x) - run(x, power=1), squared.keywords


def inputs():
    return (torch.randn(2),)
