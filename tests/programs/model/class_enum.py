# graphs: 1
"""Enum members in comparisons, dict keys and results."""

import enum

import torch


class Mode(enum.Enum):
    FAST = 1
    SLOW = "slow"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


TABLE = {Mode.FAST: 2.0, Mode.SLOW: 3.0}


def f(x, mode):
    if mode is Mode.FAST:
        x = x + 1
    return x * TABLE[mode] * Level.HIGH, mode, Mode("slow"), Level(1).name


def inputs():
    return torch.randn(2), Mode.FAST
