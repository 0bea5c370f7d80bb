# graphs: 1
"""A descriptor keeps its values in a dict of its own, keyed by a name of the instance."""

import torch

VALUES = {"a": 1}


class Stored:
    def __get__(self, instance, owner=None):
        return self if instance is None else VALUES[instance.name]

    def __set__(self, instance, value):
        VALUES[instance.name] = value


class Item:
    weight = Stored()

    def __init__(self, name):
        self.name = name


def f(x, first, second):
    first.weight += 1
    second.weight = x * first.weight
    return second.weight + 1


def inputs():
    return torch.randn(2), Item("a"), Item("b")


calls = [inputs]
