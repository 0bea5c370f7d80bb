# graphs: 2
"""Classes whose instances the call makes, takes and copies get a finalizer between two calls: it runs as often as eagerly."""

import copy
from typing import NamedTuple

import torch

LOG = []
KEPT = []  # arguments of earlier calls end when whoever called lets go of them


class Plain:
    def __init__(self, x):
        self.x = x


class Pair(NamedTuple):
    first: torch.Tensor
    second: int = 2


class Items(list):
    pass


class Failed(Exception):
    pass


KINDS = [Plain, Pair, Items, Failed]


def f(x, pair, items, plain):
    total = Plain(x * 2).x + pair.first * pair.second + len(items) + items[0]
    other = object.__new__(Plain)
    other.x = total.sin()
    try:
        raise Failed("no")
    except Failed as error:
        text = str(error)
    return Pair(total).first, text, len(Items([1, 2])), other.x, copy.copy(plain).x


def inputs():
    x = torch.ones(2)
    KEPT.append((x, Pair(x + 1), Items([3, 4]), Plain(5)))
    return KEPT[-1]


def with_finalizers():
    for kind in KINDS:
        kind.__del__ = lambda self: LOG.append(type(self).__name__)
    return inputs()


calls = [inputs, inputs, with_finalizers, inputs]
