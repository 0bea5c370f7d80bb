# graphs: 3
"""A call's first arguments are on the stack when a later one prints."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def mix(a, b, c, d):
    return a * 2 + b - d, c


def offset(x):
    say("offset")
    return x + 3


def f(x):
    return mix(x.sin(), offset(x), say("third"), x.cos())


def inputs():
    return (torch.randn(3),)
