# graphs: 2
# whole: no
"""functools.singledispatch and a dict of classes."""

import functools

import torch


@functools.singledispatch
def describe(value):
    return "object"


@describe.register
def _(value: int):
    return "int"


@describe.register(list)
def _(value):
    return "list of " + describe(value[0])


def f(x):
    names = [describe(1), describe([2]), describe("s")]
    return x * len(names[1]), names


def inputs():
    return (torch.randn(2),)
