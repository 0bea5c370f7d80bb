# graphs: 1
"""A module that is called is told from a function in it of the same name."""

import types

import torch

PLAIN, NAMED, OUTSIDE = types.ModuleType("plain"), types.ModuleType("named"), types.ModuleType("outside.part")
NAMED.named = len
setattr(OUTSIDE, "outside.part", print)


def error_of(module):
    try:
        module()
    except TypeError as error:
        return str(error)


def f(x, outside):
    return x + 1, error_of(PLAIN), error_of(NAMED), error_of(outside)


def inputs():
    return torch.ones(2), OUTSIDE
