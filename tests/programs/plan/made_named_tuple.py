# graphs: 1
"""A named tuple and an enumeration are made by calls."""

import collections
import enum

import torch


def f(x):
    Pair = collections.namedtuple("Pair", ["left", "right"], defaults=[2])
    Mode = enum.Enum("Mode", "SMALL LARGE")
    pair = Pair(x + 1)
    other = pair._replace(right=Mode.LARGE.value * 3)
    return pair.left * pair.right + other.right, Pair._fields, Mode["SMALL"].name, Pair.__module__ == __name__


def inputs():
    return (torch.randn(2),)
