# graphs: 1
"""copy.copy and copy.deepcopy of Python containers made inside."""

import copy

import torch


def f(x):
    table = {"a": [1, 2], "b": {"c": 3}}
    shallow, deep = copy.copy(table), copy.deepcopy(table)
    table["a"].append(9)
    return x * len(deep["a"]) + len(shallow["a"]), deep


def inputs():
    return (torch.randn(2),)
