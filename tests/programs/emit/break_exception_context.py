# graphs: 2
"""An exception raised after a break in a handler has the first one as its context."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    y = x * 2
    try:
        try:
            (1).missing
        except AttributeError:
            say("handling")
            raise ValueError("second")
    except ValueError as error:
        context = type(error.__context__).__name__
        y = y + 1
    return y, context


def inputs():
    return (torch.randn(2),)
