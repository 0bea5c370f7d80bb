# graphs: 3
"""A graph break in the middle of comprehensions, one in the other: what the variables hold outside comes back at the end."""

import torch

import minidynamo


def note(value):
    minidynamo.graph_break()
    return value


def f(x, values):
    v = "outside"
    made = [x * v + note(v) for v in values]
    unbound = [w for w in values]
    return made, v, unbound


def inputs():
    return torch.ones(2), [1, 2]
