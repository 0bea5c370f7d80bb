# graphs: 5
"""A loop with a break runs a number of times that an argument gives."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, steps):
    for _ in range(steps):
        x = x * 0.5
        say("step")
    return x + 1


def inputs():
    return torch.randn(2), 2


def longer():
    return torch.randn(2), 5


def none():
    return torch.randn(2), 0


calls = [inputs, longer, none]
