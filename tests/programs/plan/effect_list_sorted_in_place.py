# graphs: 1
"""A list argument of pairs is sorted in place by a key."""

import torch


def f(beams, x):
    beams.sort(key=lambda beam: (-beam[0], beam[1]))
    best = beams[0]
    return x * best[0], best[1]


def inputs():
    return [(1, "a"), (3, "c"), (3, "b"), (2, "d")], torch.randn(2)
