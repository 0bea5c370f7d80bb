# graphs: 1
"""A module that is called is told from a function in it of the same name."""

import types

import torch

PLAIN, NAMED = types.ModuleType("plain"), types.ModuleType("named")
NAMED.named = len


def error_of(module):
    try:
        module()
    except TypeError as error:
        return str(error)


def f(x, outside):
    return x + 1, error_of(PLAIN), error_of(NAMED), error_of(outside)


def inputs():
    outside = types.ModuleType("outside.part")
    setattr(outside, "outside.part", print)
    return torch.ones(2), outside
