# graphs: 3
"""A loop is left by a break statement right after a graph break."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, names):
    for name in names:
        x = x * 2
        say(name)
        if name == "middle":
            x = x - 1
            break
    else:
        x = x * 100
    return x


def inputs():
    return torch.randn(2), ("first", "middle", "last")
