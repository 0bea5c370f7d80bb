# graphs: 1
"""Dict methods, views and order."""

import torch


def f(x):
    table = {"a": x, "b": x + 1}
    table["c"] = table.pop("a")
    table.setdefault("d", []).append(x)
    table.update(b=x * 3, e=1)
    merged = table | {"z": x}
    found = table.get("missing", 7)
    total = sum(value for value in merged.values() if isinstance(value, torch.Tensor))
    return total, list(table), [key for key, _ in merged.items()], found, "b" in table, len(merged)


def inputs():
    return (torch.randn(2),)
