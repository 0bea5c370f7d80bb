# graphs: 3
"""A method call whose arguments and keyword arguments print."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Head:
    def __init__(self, scale):
        self.scale = scale

    def apply(self, x, note=None, *, shift=0, power=1):
        return (x * self.scale + shift) ** power, note


def said(value):
    say("said", value)
    return value


def f(x):
    y = x + 1
    out, note = Head(2).apply(y * 3, say("note"), power=2, shift=said(y.sum()))
    return out - 1, note


def inputs():
    return (torch.ones(2),)
