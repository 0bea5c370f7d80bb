# graphs: 1
"""send, yield from, return values and close of generators."""

import torch


def inner(x):
    got = yield x
    return got * 2


def outer(x):
    result = yield from inner(x)
    yield result + 1


def f(x):
    generator = outer(x)
    a = generator.send(None)
    b = generator.send(a + 3)
    generator.close()
    return a, b


def inputs():
    return (torch.randn(2),)
