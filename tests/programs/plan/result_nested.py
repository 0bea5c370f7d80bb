# graphs: 1
"""A result of tuples, lists and dicts in each other, with numbers, strings and None."""

import torch


def f(x):
    return {"a": [x + 1, (x * 2, None)], "b": ("text", 3, 2.5, True), "c": {"d": []}, 4: ...}


def inputs():
    return (torch.randn(2),)
