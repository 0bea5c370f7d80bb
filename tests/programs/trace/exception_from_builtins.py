# graphs: 1
"""Errors that Python itself raises: index, key, attribute, type, zero division, stop iteration, value."""

import torch


def attempt(action):
    try:
        action()
    except (IndexError, KeyError, AttributeError, TypeError, ZeroDivisionError, StopIteration, ValueError) as error:
        return type(error).__name__, str(error)


def f(x):
    found = [
        attempt(lambda: [][1]),
        attempt(lambda: {}["a"]),
        attempt(lambda: (1).missing),
        attempt(lambda: 1 + "a"),
        attempt(lambda: 1 // 0),
        attempt(lambda: next(iter(()))),
        attempt(lambda: int("x")),
    ]
    return x + len(found), found


def inputs():
    return (torch.randn(2),)
