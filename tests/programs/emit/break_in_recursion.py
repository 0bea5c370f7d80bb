# graphs: 2
"""A recursive function prints at its deepest call."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def descend(x, depth):
    if depth == 0:
        say("bottom reached")
        return x * 10
    return descend(x + depth, depth - 1) - depth


def f(x):
    return descend(x.sin(), 4).cos()


def inputs():
    return (torch.randn(2),)
