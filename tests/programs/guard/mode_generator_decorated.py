# graphs: 1
"""A context manager decorator around a function that is called twice."""

import contextlib

import torch


@contextlib.contextmanager
def doubled(table):
    table["n"] *= 2
    yield
    table["n"] //= 2


TABLE = {"n": 1}


def f(x):
    with doubled(TABLE), doubled(TABLE):
        y = x * TABLE["n"]
    return y + TABLE["n"]


def inputs():
    return (torch.randn(3),)
