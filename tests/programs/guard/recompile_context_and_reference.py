# graphs: 4
"""The value of a context variable and the object of a weak reference are guarded."""

import contextvars
import weakref

import torch

SCALE = contextvars.ContextVar("SCALE", default=2)
UNSET = contextvars.ContextVar("UNSET")


class Holder:
    def __init__(self, by):
        self.by = by


HELD = [Holder(3)]
LINK = [weakref.ref(HELD[0])]


def f(x, between):
    y = x * SCALE.get() + SCALE.get(10) + UNSET.get(1)
    try:
        UNSET.get()
    except LookupError:
        y = y + 100
    held = LINK[0]()
    return y * held.by if held is not None else y - 1


def plain():
    return torch.ones(2), None


def other_value():
    SCALE.set(5)
    return torch.ones(2), None


def other_object():
    HELD[0].by = 4
    return torch.ones(2), None


def gone():
    HELD.clear()
    return torch.ones(2), None


calls = [plain, plain, other_value, other_value, other_object, other_object, gone, gone]
inputs = plain
