# graphs: 2
"""A ContextVar is set across a break, and set back behind it."""

import contextvars

import torch

SCALE = contextvars.ContextVar("scale", default=2)


def report():
    print("scale is", SCALE.get())


def f(x):
    first = SCALE.set(3)
    second = SCALE.set(SCALE.get() + 1)
    y = x * SCALE.get()
    report()
    old = second.old_value
    SCALE.reset(second)
    report()
    z = y + SCALE.get()
    SCALE.reset(first)
    report()
    return z, old, SCALE.get(), first.var is SCALE


def inputs():
    return (torch.randn(2),)
