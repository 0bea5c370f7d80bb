# graphs: 1
"""Keyword arguments, in an order other than the parameters'."""

import torch


def f(x, *, scale, other):
    return x * scale - other


def inputs():
    return (torch.randn(4),)


def keywords():
    return {"other": torch.randn(4), "scale": 3.0}
