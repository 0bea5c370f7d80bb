# graphs: 1
"""Globals of other kinds are read: tensor, number, dict, function."""

import torch

SCALE = 3
WEIGHT = torch.full((2,), 0.5)
OPTIONS = {"bias": 1.5, "deep": {"x": [1, 2]}}


def helper(x):
    return x * SCALE


def f(x):
    return helper(x) @ WEIGHT + OPTIONS["bias"] + OPTIONS["deep"]["x"][1]


def inputs():
    return (torch.randn(2),)
