# graphs: 1
"""An exception crosses two frames and is caught by a tuple of classes."""

import torch


class Rejected(RuntimeError):
    def __init__(self, reason, value):
        super().__init__(reason)
        self.value = value


def check(x, n):
    if n > 1:
        raise Rejected("too big", x * n)
    return x


def middle(x, n):
    return check(x, n) + 1


def f(x):
    a = middle(x, 1)
    try:
        b = middle(x, 2)
    except (KeyError, Rejected) as error:
        b = error.value - 1
        text = str(error)
    return a, b, text


def inputs():
    return (torch.randn(2),)
