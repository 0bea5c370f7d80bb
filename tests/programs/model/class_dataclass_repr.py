# graphs: 1
"""repr() of dataclasses, nested and from outside."""

import dataclasses

import torch


@dataclasses.dataclass
class Inner:
    a: int
    b: list


@dataclasses.dataclass
class Outer:
    inner: Inner
    name: str = "n"


def f(x, given):
    made = Outer(Inner(1, [2, 3]))
    return x * len(repr(given)), repr(made), f"{given}"


def inputs():
    return torch.randn(2), Outer(Inner(4, []), "g")
