# graphs: 1
"""__slots__ instead of an instance dict."""

import torch


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y


def f(point):
    moved = Point(point.x + 1, point.y * 2)
    point.y = moved.x
    return moved


def inputs():
    return (Point(torch.randn(2), torch.randn(2)),)
