# graphs: 1
"""A context variable is set, read by a callee and reset by its token."""

import contextvars

import torch

SCALE = contextvars.ContextVar("scale", default=2)


def scaled(x):
    return x * SCALE.get()


def f(x):
    y = scaled(x)
    token = SCALE.set(5)
    z = scaled(y)
    SCALE.reset(token)
    return z, SCALE.get()


def inputs():
    return (torch.randn(2),)
