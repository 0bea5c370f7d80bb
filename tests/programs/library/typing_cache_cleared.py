# graphs: 1
"""What stands in typing's caches is the same object for all who ask, also after the caches have been emptied."""

import typing

import torch


def f(x, asked_before):
    return x + len(asked_before), [typing.ClassVar[int], typing.List[str], typing.List[str]]


def inputs():
    return torch.randn(2), [typing.ClassVar[int], typing.List[str]]


def cleared():
    for clear in typing._cleanups:
        clear()
    return inputs()


calls = [inputs, cleared, inputs]
