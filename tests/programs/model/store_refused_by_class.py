# graphs: 1
"""An object without a __dict__ refuses an attribute in CPython's words, which differ between versions, and names itself in the error."""

import torch


class Empty:
    __slots__ = ()


class WithConstant:
    __slots__ = ("slot",)
    constant = 3


def f(x, outside):
    errors = []
    for thing in (*outside, Empty(), WithConstant()):
        for name in ("missing", "constant"):
            for store in (lambda: setattr(thing, name, 1), lambda: delattr(thing, name)):  # noqa: B023
                try:
                    store()
                except AttributeError as error:
                    errors.append((str(error), error.name, type(error.obj).__name__))
    return x + 1, errors


def inputs():
    return torch.ones(2), (Empty(), WithConstant())
