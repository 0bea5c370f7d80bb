# graphs: 3
"""A global that is read after the break changes between calls."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break

SCALE = 2


def f(x):
    y = x + 1
    say("scaling")
    return y * SCALE


def inputs():
    return (torch.randn(2),)


def rescaled():
    global SCALE
    SCALE = 5
    return inputs()


calls = [inputs, rescaled, inputs]
