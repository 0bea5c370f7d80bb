# graphs: 2
"""A function made before a break is called after it and sees the variable's new value; it is also returned."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    scale = 2

    def scaled(t):
        return t * scale

    y = scaled(x)
    say("rescale")
    scale = 5
    z = scaled(y)

    def rescale(new):
        nonlocal scale
        scale = new

    rescale(7)
    return z, scaled


def inputs():
    return (torch.randn(2),)
