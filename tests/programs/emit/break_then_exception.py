# graphs: 2
"""An exception leaves the function after two breaks: type, message and lines."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class TooWide(ValueError):
    pass


def f(x):
    y = x + 1
    say("first")
    z = y * 2
    say("second", z.shape)
    if z.shape[0] > 2:
        raise TooWide(f"{z.shape[0]} columns")
    return z


def inputs():
    return (torch.randn(3),)
