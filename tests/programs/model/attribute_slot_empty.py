# graphs: 5
"""A slot that is empty at one call and not at the next: asked for, read, copied and deleted."""

import copy

import torch


class Slotted:
    __slots__ = ("left", "right")


def f(x, slotted):
    facts = [hasattr(slotted, "left"), getattr(slotted, "right", None)]
    facts.append(hasattr(copy.copy(slotted), "left"))
    try:
        del slotted.left
    except AttributeError as error:
        facts.append(str(error))
    return x + 1, facts


def make(**values):
    slotted = Slotted()
    for name, value in values.items():
        setattr(slotted, name, value)
    return torch.ones(2), slotted


def inputs():
    return make()


calls = [
    inputs,
    lambda: make(left=1),
    lambda: make(right=2),
    lambda: make(left=1, right=2),
    lambda: make(),
    lambda: make(left=2),
    lambda: make(right=2),
]
