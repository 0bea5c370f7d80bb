# graphs: 3
"""A random number decides which way the program goes: a graph break at the question, not at the draw."""

import random

import torch


def f(x):
    y = x.sin()
    for _ in range(3):
        if random.random() < 0.5:
            y = y + random.random()
    return y


def inputs():
    return (torch.ones(2),)
