# graphs: 1
"""Positional-only parameters beside **kwargs of the same name."""

import torch


def f(x, /, **rest):
    return x + rest["x"]


def inputs():
    return (torch.ones(2),)


def keywords():
    return {"x": torch.arange(2.0)}
