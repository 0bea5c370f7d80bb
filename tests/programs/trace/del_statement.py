# graphs: 1
"""del of locals, items, slices and attributes."""

import torch


class Box:
    pass


def f(x):
    y = x + 1
    box, items, table = Box(), [0, 1, 2, 3], {"a": y, "b": 1}
    box.value = y
    del items[1:3], table["b"], box.value
    z = table["a"] * len(items)
    del y
    try:
        y  # noqa: F821
    except UnboundLocalError:
        return z, hasattr(box, "value"), items


def inputs():
    return (torch.randn(2),)
