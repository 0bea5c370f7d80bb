# graphs: 3
"""Two calls of a method that is kept out of the capture, with keyword arguments and state."""

import torch

import minidynamo


class Meter:
    def __init__(self):
        self.seen = []

    @minidynamo.disable
    def update(self, value, *, weight=1):
        self.seen.append(value.sum().item() * weight)
        return len(self.seen)


def f(x, meter):
    y = x + 1
    first = meter.update(y)
    z = y * 2
    second = meter.update(z, weight=0.5)
    return z - 3, first, second, meter


def inputs():
    return torch.ones(2), Meter()
