# graphs: 3
"""A flag is read only after the break: both calls share the part before it."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, double):
    y = x + 1
    say("before the branch")
    if double:
        return y * 2
    return y - 2


def inputs():
    return torch.randn(3), True


def single():
    return torch.randn(3), False


calls = [inputs, single, inputs]
