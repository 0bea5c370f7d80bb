# graphs: 1
"""A dataclass, a named tuple and a protocol that the function defines."""

import dataclasses
import typing
from typing import NamedTuple

import torch


def f(x):
    y = x + 1

    @dataclasses.dataclass
    class Point:
        a: torch.Tensor
        b: int = 3

    class Pair(NamedTuple):
        a: int
        b: int = 2

    class Runs(typing.Protocol):
        def run(self): ...

    point, pair = Point(y), Pair(1)
    return point.a * point.b + pair.a + pair.b


def inputs():
    return (torch.randn(2),)


calls = [inputs]
