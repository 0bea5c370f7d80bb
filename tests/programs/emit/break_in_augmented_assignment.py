# graphs: 2
"""`self.total += g()`: the old value is on the stack while g breaks."""

import torch


class Accumulator:
    def __init__(self):
        self.total, self.parts = 1.5, [1, 2]

    def add(self, y):
        self.total += int(y.sum())
        self.parts[0] += self.seen()
        return y * self.total

    def seen(self):
        self.total = self.total + 0
        return len(self.parts)


def f(x):
    accumulator = Accumulator()
    return accumulator.add(x * 2), vars(accumulator)


def inputs():
    return (torch.ones(3),)
