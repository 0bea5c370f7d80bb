# graphs: 1
"""Iteration order of dicts follows insertion, also after deletion and insertion again."""

import torch


def f(x):
    table = dict(a=1, b=2, c=3)
    del table["a"]
    table["a"] = 4
    for index, (key, value) in enumerate(table.items()):
        x = x * value + index
    return x, list(reversed(table))


def inputs():
    return (torch.randn(2),)
