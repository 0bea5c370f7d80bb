# graphs: 1
"""An equal but different object is stored: True over 1, 2.0 over 2, a new list over an equal one."""

import torch


def f(x, table, items):
    table["one"] = True
    table["two"] = 2.0
    fresh = [1, 2]
    table["list"] = fresh
    items[:] = [0, -0.0]
    fresh.append(3)
    return x + len(table["list"])


def inputs():
    return torch.randn(2), {"one": 1, "two": 2, "list": [1, 2]}, [0.0, 0]
