# graphs: 1
"""update, pop, popitem, setdefault and clear on dict arguments."""

import torch


def f(table, other, x):
    table.update(b=x * 2, c=3)
    first = table.pop("a")
    last = table.popitem()
    table.setdefault("d", []).append(first)
    table.setdefault("b", "unused")
    missing = table.pop("missing", -1)
    other.clear()
    return last, missing, table["b"] + 1


def inputs():
    return {"a": 1, "b": 2}, {"k": "v"}, torch.randn(2)
