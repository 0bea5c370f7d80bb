# graphs: 2
"""A random.Random argument is drawn from between two operations; the caller goes on drawing."""

import random

import torch


def f(x, generator):
    y = x + 1
    flip = generator.random() < 0.5
    picked = generator.choice(["a", "b", "c"])
    return y * (2 if flip else 3), picked


def inputs():
    return torch.randn(2), random.Random(7)
