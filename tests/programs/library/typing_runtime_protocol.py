# graphs: 2
# graphs_312: 1
# whole: no
"""isinstance with runtime protocols, and inspect.signature of a class and a function."""

import inspect
import typing

import torch


@typing.runtime_checkable
class Scales(typing.Protocol):
    factor: float

    def scale(self, x): ...


@typing.runtime_checkable
class Callback(typing.Protocol):
    def __call__(self, x): ...


class Double:
    factor = 2.0

    def scale(self, x):
        return x * self.factor


class Other:
    pass


def helper(a, b=2, *, c: int = 3):
    return a


def f(x, part):
    asked = isinstance(part, Scales), isinstance(Other(), Scales), isinstance(helper, Callback)
    y = part.scale(x) if asked[0] else x
    names = list(inspect.signature(helper).parameters)
    return y, asked, names, inspect.signature(helper).parameters["c"].default


def inputs():
    return torch.randn(2), Double()
