# graphs: 2
"""A changed global makes another graph."""

import torch

SCALE = 2


def f(x):
    return x * SCALE


def inputs():
    return (torch.randn(2),)


def changed():
    global SCALE
    SCALE = 5
    return (torch.randn(2),)


calls = [inputs, inputs, changed, inputs]
