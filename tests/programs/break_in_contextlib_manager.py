# graphs: 3
"""A generator function made a context manager prints before and after its yield."""

import contextlib

import torch


@contextlib.contextmanager
def profiled(name):
    print("start", name)
    try:
        yield {"name": name}
    finally:
        print("stop", name)


def f(x):
    y = x.cos()
    with profiled("matmul") as record:
        y = y @ y
        record["shape"] = tuple(y.shape)
    return y + 1, record


def inputs():
    return (torch.randn(3),)
