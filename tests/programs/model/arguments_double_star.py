# graphs: 1
"""**kwargs of tensors, passed on to another function that takes them by name."""

import torch


def combine(a, b, c=1.0):
    return a - b * c


def f(x, **others):
    assert sorted(others) == ["a", "b"]
    return combine(c=x, **others)


def inputs():
    return (torch.randn(3),)


def keywords():
    return {"a": torch.randn(3), "b": torch.randn(3)}
