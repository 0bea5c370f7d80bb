# graphs: 2
"""The caught exception is kept under another name over a break, and its own name is unbound."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    y = x * 3
    kept = None
    try:
        raise KeyError("width", 4)
    except KeyError as error:
        say("caught", error.args)
        kept = error
        y = y + error.args[1]
    try:
        error  # noqa: F821
    except UnboundLocalError:
        y = y.neg()
    return y, kept.args, kept.__context__


def inputs():
    return (torch.randn(2),)
