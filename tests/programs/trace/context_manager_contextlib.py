# graphs: 1
"""contextlib.contextmanager, suppress, nullcontext, ExitStack."""

import contextlib

import torch


@contextlib.contextmanager
def scaled(values, by):
    values.append(by)
    try:
        yield by * 2
    finally:
        values.pop()


def f(x):
    values = []
    with scaled(values, 3) as factor:
        x = x * factor + len(values)
    with contextlib.suppress(KeyError):
        x = x + {}["missing"]
    with contextlib.nullcontext(4) as four:
        x = x - four
    with contextlib.ExitStack() as stack:
        stack.callback(values.append, "closed")
        x = x + 1
    return x, values


def inputs():
    return (torch.randn(2),)
