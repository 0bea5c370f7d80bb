# graphs: 1
"""Dict and set comprehensions."""

import torch


def f(x):
    table = {name: x + len(name) for name in ("a", "bb", "ccc")}
    lengths = {len(name) for name in table}
    return table, sorted(lengths)


def inputs():
    return (torch.randn(2),)
