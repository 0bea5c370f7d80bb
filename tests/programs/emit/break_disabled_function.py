# graphs: 2
"""A function that is kept out of the capture is called in the middle of an expression."""

import torch

import minidynamo


@minidynamo.disable
def by_hand(x):
    return x.sin() + len(x)


def f(x):
    y = by_hand(x * 2) + 1
    return y.relu()


def inputs():
    return (torch.randn(3),)
