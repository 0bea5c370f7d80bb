# graphs: 2
"""The parts of unions and generic aliases that were made before the call: types made of types, and type variables."""

import functools
import operator
import types
import typing

import torch

T = typing.TypeVar("T")
OTHER = bytes | None


class Field:
    kind = list[T] | int
    items = dict[str, T]


def f(x, field, other):
    kind = field.kind
    again = functools.reduce(operator.or_, kind.__args__)
    parameter = kind.__args__[0].__args__[0]
    wider = other | kind
    concrete = field.items[int]
    return (
        x + len(kind.__args__) + len(wider.__args__),
        [again, again == kind, parameter is T, parameter, wider.__args__, type(kind) is types.UnionType],
        [concrete, concrete.__args__, field.items.__parameters__[0] is T, field.items.fromkeys("ab"), field.items.__origin__],
    )


def inputs():
    return torch.randn(2), Field(), OTHER


def another():
    field = Field()
    field.kind = list[T] | str
    return torch.randn(2), field, OTHER


calls = [inputs, inputs, another]
