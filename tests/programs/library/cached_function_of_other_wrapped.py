# graphs: 2
"""A cache calls the function that it was made of, whatever its __wrapped__ says by now."""

import functools

import torch


@functools.lru_cache
def number(k):
    return k + 1


number.__wrapped__ = lambda k: k * 100


def f(x):
    y = x + 1
    return y * number(3), number.__wrapped__(3)


def inputs():
    return (torch.ones(2),)
