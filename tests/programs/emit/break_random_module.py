# graphs: 2
"""Python's random generator decides how much noise is added."""

import random

import torch


def f(x):
    y = x.exp()
    scale = random.random()
    order = [0, 1, 2]
    random.shuffle(order)
    return y[order] * scale, order


def inputs():
    return (torch.randn(3),)


calls = [inputs]
