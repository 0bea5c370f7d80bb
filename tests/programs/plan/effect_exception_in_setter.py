# graphs: 1
"""A setter refuses a value: what was set before it stays, and the exception is handled."""

import torch


class Bounded:
    def __init__(self):
        self._low, self.tries = 0, 0

    @property
    def low(self):
        return self._low

    @low.setter
    def low(self, value):
        self.tries += 1
        if value < 0:
            raise ValueError("negative")
        self._low = value


def f(x, bounded):
    bounded.low = 4
    try:
        bounded.low = -1
    except ValueError:
        bounded.failed = True
    return x * bounded.low + bounded.tries


def inputs():
    return torch.randn(2), Bounded()
