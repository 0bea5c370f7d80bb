# graphs: 1
"""Classes that are subscripted: __class_getitem__ in Python, of a C class, a metaclass's __getitem__, and none."""

import collections
import types

import torch


class Sized:
    def __init__(self, n):
        self.n = n

    def __class_getitem__(cls, n):
        return cls(n)


class Aliased:
    __class_getitem__ = classmethod(types.GenericAlias)


class Meta(type):
    def __getitem__(cls, n):
        return n + 1


class WithMeta(metaclass=Meta):
    def __class_getitem__(cls, n):
        return n + 100


class Plain:
    pass


def f(x):
    texts = [str(kind) for kind in (collections.deque[int], Aliased[int, str], list[Aliased], type[int])]
    try:
        Plain[int]
    except TypeError as error:
        texts.append(str(error))
    return x * Sized[3].n + WithMeta[4], texts


def inputs():
    return (torch.randn(2),)
