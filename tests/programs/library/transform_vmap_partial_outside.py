# graphs: 1
"""A transform stored outside, around a partial."""

import torch


import functools


def scaled(row, factor):
    return row * factor


TRIPLED = torch.func.vmap(functools.partial(scaled, factor=3))


def f(x):
    return TRIPLED(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
