# graphs: 2
"""An exception from before a break whose __str__ is that of any object: it gives what its own __repr__ gives."""

import torch


class Incomplete(Exception):
    def __init__(self, part, expected):
        self.args = (part,)
        self.expected = expected

    def __repr__(self):
        return f"{self.expected} more expected"

    __str__ = object.__str__


def read(x):
    torch.compiler.is_compiling()
    if x.sum() > 0:
        raise Incomplete(b"abc", 3)


def f(x):
    try:
        read(x)
    except Incomplete as error:
        return repr(error), str(error), f"{error}", x + 1


def inputs():
    return (torch.ones(2),)
