# graphs: 3
"""What was read from the __dict__ of a class is guarded: a value, and that a name is not there."""

import torch


class Point:
    scale = 2
    other = 1


def f(x, between):
    y = x * Point.__dict__["scale"]
    return y + 1 if "late" in Point.__dict__ else y


def first():
    Point.scale = 2
    return torch.ones(2), None


def changed():
    Point.scale = 5
    return torch.ones(2), None


def unrelated():
    Point.other = 7
    return torch.ones(2), None


def more():
    Point.late = True
    return torch.ones(2), None


calls = [first, unrelated, changed, changed, more, more]
inputs = first
