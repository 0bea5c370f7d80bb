# graphs: 1
"""What the library brings: map() that asks for equal lengths, places to fill in partial()."""
import functools

import torch


def subtract(a, b):
    return a - b


def f(x, n):
    less = functools.partial(subtract, functools.Placeholder, n)
    try:
        list(map(subtract, [1, 2], [3], strict=True))
    except ValueError as error:
        message = str(error)
    return less(x), list(map(subtract, [x, n], [1, 2], strict=True)), message


def inputs():
    return torch.ones(3), 4
