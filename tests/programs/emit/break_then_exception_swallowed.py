# graphs: 3
"""contextlib.suppress swallows an exception raised after a break in its block."""

import contextlib

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, options):
    y = x + 1
    with contextlib.suppress(KeyError, AttributeError):
        y = y * 2
        say("looking")
        y = y.neg()
        say("not found yet")
        y = y * options["missing"]
    return y.sin()


def inputs():
    return torch.randn(2), {"present": 1}
