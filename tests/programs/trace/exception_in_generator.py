# graphs: 1
"""An exception thrown into a generator and handled there."""

import torch


def guarded(x):
    try:
        yield x
    except ValueError:
        yield x * 2


def f(x):
    generator = guarded(x)
    first = next(generator)
    second = generator.throw(ValueError("v"))
    return first + second


def inputs():
    return (torch.randn(2),)
