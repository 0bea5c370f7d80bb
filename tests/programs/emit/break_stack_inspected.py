# graphs: 0
"""A helper asks which function called it."""

import inspect

import torch


def caller():
    return inspect.stack()[1].function


def layer(x):
    y = x + 1
    name = caller()
    return y.cos(), name


def f(x):
    y, name = layer(x * 2)
    return y, name


def inputs():
    return (torch.randn(2),)
