# graphs: 4
"""An argument is a number, a string or a list in three calls; its type decides after the break."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, scale):
    y = x + 1
    say("typed")
    if isinstance(scale, str):
        scale = len(scale)
    elif isinstance(scale, list):
        scale = sum(scale) - 1
    return y * scale


def inputs():
    return torch.randn(2), 0.5


def text():
    return torch.randn(2), "four"


def items():
    return torch.randn(2), [1, 2, 3]


calls = [inputs, text, items, inputs]
