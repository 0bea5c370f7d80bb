# graphs: 1
"""Bound methods stored in containers and compared."""

import torch


class Adder:
    def __init__(self, n):
        self.n = n

    def add(self, x):
        return x + self.n


def f(x):
    a, b = Adder(1), Adder(2)
    methods = [a.add, b.add, a.add]
    for method in methods:
        x = method(x)
    return x, methods[0] == methods[2], methods[0].__self__ is a


def inputs():
    return (torch.randn(2),)
