# graphs: 1
"""A table keyed by members of an enum is an attribute of the enum's owner; members carry a mutable list."""

import enum

import torch


class Phase(enum.Enum):
    WARMUP = 1
    TRAIN = 2

    def __init__(self, number):
        self.visits = []


def f(x, counts):
    phase = Phase.WARMUP
    counts[phase] = counts.get(phase, 0) + 1
    phase.visits.append("f")
    if counts[phase] > 1:
        phase = Phase(2)
    return x * phase.value, phase


def inputs():
    return torch.randn(2), {Phase.WARMUP: 1}


calls = [inputs]
