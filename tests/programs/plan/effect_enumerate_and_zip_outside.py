# graphs: 2
"""enumerate and zip objects made outside are advanced by one step in each call."""

import torch

PLACES = enumerate("abcd", start=10)
PAIRS = zip([1, 2, 3], [4, 5, 6])


def f(x):
    place, letter = next(PLACES)
    low, high = next(PAIRS)
    return x * place + high - low, letter


def inputs():
    return (torch.randn(2),)
