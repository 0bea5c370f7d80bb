# graphs: 1
"""Brackets behind classes: generic classes, __class_getitem__ and a metaclass with __getitem__."""

import enum
import typing

import torch

T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init__(self, value):
        self.value = value


KNOWN = Box[int], Box[torch.float32]  # typing remembers what its brackets gave


class Sized:
    def __class_getitem__(cls, item):
        return cls.__name__, item


class Small(Sized):
    pass


class Meta(type):
    def __getitem__(cls, item):
        return item * 2


class Doubling(metaclass=Meta):
    pass


class Color(enum.Enum):
    RED = 1


def f(x):
    box = Box[int](3)
    try:
        Color.__mro__[1]["RED"]
        Meta["a"]
    except (TypeError, KeyError) as error:
        text = str(error)
    return x * box.value * Doubling[2], Sized[1], Small["a"], Color["RED"], text, Box[x.dtype](x).value is x


def inputs():
    return (torch.randn(2),)
