# graphs: 1
"""__bool__, __int__, __float__, __index__ steer control flow and indexing."""

import torch


class Flag:
    def __init__(self, n):
        self.n = n

    def __bool__(self):
        return self.n > 1

    def __index__(self):
        return self.n

    def __float__(self):
        return self.n / 2


def f(x):
    a, b = Flag(1), Flag(2)
    y = x * 2 if b and not a else x
    return y * float(a) + [10, 20, 30][a], range(5)[b]


def inputs():
    return (torch.randn(4),)
