# graphs: 1
"""Assigning to a property runs its setter, which checks and counts."""

import torch


class Optimizer:
    def __init__(self):
        self._rate, self.changes = 0.1, 0

    @property
    def rate(self):
        return self._rate

    @rate.setter
    def rate(self, value):
        if value <= 0:
            raise ValueError("rate must be positive")
        self.changes += 1
        self._rate = value


def f(x, optimizer):
    optimizer.rate = 0.5
    optimizer.rate /= 2
    return x * optimizer.rate


def inputs():
    return torch.randn(2), Optimizer()
