# graphs: 1
"""match on sequences, mappings and classes."""

import torch


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


def take(value):
    match value:
        case [first, *rest]:
            return first * len(rest)
        case {"tensor": tensor, **others}:
            return tensor + len(others)
        case Point(x, y=0):
            return x
        case Point(x, y):
            return x + y


def f(x):
    return take([x, 1, 2]), take({"tensor": x, "a": 1}), take(Point(x, 0)), take(Point(x, 3))


def inputs():
    return (torch.randn(3),)
