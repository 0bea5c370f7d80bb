# graphs: 1
"""A ContextVar is set, asked, and set back, by hand and in a context manager."""

import contextlib
import contextvars

import torch

SCALE = contextvars.ContextVar("scale", default=2)
DEPTH = contextvars.ContextVar("depth")


@contextlib.contextmanager
def scaled(by):
    token = SCALE.set(SCALE.get() * by)
    try:
        yield token
    finally:
        SCALE.reset(token)


def apply(x):
    return x * SCALE.get()


def f(x):
    outer = apply(x)
    with scaled(3):
        inner = apply(x)
        with scaled(5):
            deepest = apply(x)
    DEPTH.set([x, "set inside"])
    first = DEPTH.get()
    DEPTH.set((first, 2))
    return outer, inner, deepest, apply(x), DEPTH.get("none"), SCALE.get()


def inputs():
    return (torch.randn(2),)
