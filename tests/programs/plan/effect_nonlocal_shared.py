# graphs: 1
"""Two closures over one variable are arguments: one writes it, the other one reads it."""

import torch


def counter(start):
    count = start

    def up(by):
        nonlocal count
        count += by

    def value():
        return count

    return up, value


def f(x, up, value):
    before = value()
    up(2)
    up(3)
    return x * value(), before


def inputs():
    return torch.randn(2), *counter(10)
