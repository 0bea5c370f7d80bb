# graphs: 2
"""A local is deleted before a break, bound again after it, and deleted again."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    y = x * 2
    z = y + 1
    del y
    say("deleted")
    try:
        y  # noqa: F821
    except UnboundLocalError as error:
        name = error.name if hasattr(error, "name") else "y"
    y = z - 1
    w = y.exp()
    del y, z
    return w, name


def inputs():
    return (torch.randn(2),)
