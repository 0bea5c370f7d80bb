# graphs: 4
"""A cache of two: what it gives it may have forgotten by the next call, and a call that cannot be a key."""

import functools

import torch


class Config:
    scale = 1


CONFIG = Config()


@functools.lru_cache(maxsize=2)
def number(k):
    return k * CONFIG.scale


number(1)


def f(x, k):
    CONFIG.scale = 10
    first = number(k)
    second = number(1)
    try:
        number([k])
    except TypeError as error:
        return x * first + second, str(error)


def inputs():
    return torch.ones(2), 1


def other():
    return torch.ones(2), 2


def third():
    return torch.ones(2), 3


calls = [inputs, inputs, other, other, third, third, inputs, other]
