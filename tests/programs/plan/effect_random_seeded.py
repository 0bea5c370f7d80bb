# graphs: 1
"""Generators from before the call are seeded, drawn from, put back and shuffled with; the program sees where they are."""

import random

import torch


def f(x, generator):
    generator.seed(11)
    first = generator.random()
    state = generator.getstate()
    items = list(range(5))
    generator.shuffle(items)
    generator.setstate(state)
    again = list(range(5))
    generator.shuffle(again)
    random.seed(3)
    return x * first, items == again, generator.gauss(0, 1), random.sample(items, 2)


def inputs():
    return torch.ones(2), random.Random(1)
