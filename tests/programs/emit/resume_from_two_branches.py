# graphs: 3
"""Both sides of a branch compute before one common break, with one continuation."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, mode):
    if mode == "sin":
        y = x.sin()
    else:
        y = x.cos()
    say("computed")
    return y * 2


def inputs():
    return torch.randn(2), "sin"


def cosine():
    return torch.randn(2), "cos"


calls = [inputs, cosine]
