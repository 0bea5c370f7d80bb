# graphs: 6
"""A loop over a dict comes to its end behind a graph break, the dict shrinks, and the next loop over it is cut again."""

import torch


def f(x, table):
    passed = []
    for key, value in table.items():
        if (x * 0 + 0.5).sum():
            passed.append(key)
    del table["a"]
    for key in table:
        if x.sum() > 0:
            passed.append(key)
    table["c"] = 3
    for number, value in enumerate(table.values()):
        if x.sum() > value:
            passed.append(number)
    return x + len(passed), passed


def inputs():
    return torch.ones(2), {"b": 2, "a": 0}
