# graphs: 3
"""A generator function made a context manager prints before and after its yield."""

import contextlib

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


@contextlib.contextmanager
def profiled(name):
    say("start", name)
    try:
        yield {"name": name}
    finally:
        say("stop", name)


def f(x):
    y = x.cos()
    with profiled("matmul") as record:
        y = y @ y
        record["shape"] = tuple(y.shape)
    return y + 1, record


def inputs():
    return (torch.randn(3),)
