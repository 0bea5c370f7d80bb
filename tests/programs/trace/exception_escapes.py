# graphs: 0
"""An exception that leaves the function: same type, message and lines."""

import torch


class Wrong(Exception):
    pass


def check(x, n):
    if n > 2:
        raise Wrong(f"n is {n}")
    return x


def f(x):
    y = x + 1
    return check(y, 3)


def inputs():
    return (torch.randn(2),)
