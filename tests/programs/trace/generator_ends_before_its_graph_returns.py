# graphs: 2
"""A loop that raises behind a graph of the same capture lets go of its generator before the handler runs."""

import contextlib

import torch

EVENTS = []


@contextlib.contextmanager
def mended():
    try:
        yield
    except LookupError:
        EVENTS.append("mended")


def counted():
    try:
        yield from range(3)
    finally:
        EVENTS.append("closed")


def f(x):
    EVENTS.clear()
    with mended():
        for n in counted():
            print(end="")
            y = x * n + torch.ones(2)
            [].pop()
    return x + 1, y, list(EVENTS)


def inputs():
    return (torch.arange(2.0),)
