# graphs: 1
"""Floats are drawn from the module's generator and from another one, used, kept, thrown away, and drawn behind a seed."""

import random
import types

import torch

state = types.SimpleNamespace(share=0.0)
other = random.Random(5)


def f(x):
    state.share = random.random()
    random.random()
    y = x * state.share + other.uniform(1, 2)
    for _ in range(2):
        y = y - random.gauss(0, 1) / (1 + other.random())
    random.seed(7)
    return y * random.random() * random.randint(1, 6), random.choice("abc"), other.expovariate(2)


def inputs():
    return (torch.ones(3),)
