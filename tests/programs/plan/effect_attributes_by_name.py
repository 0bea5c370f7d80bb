# graphs: 1
"""setattr with names made at run time, and delattr."""

import torch


class Registry:
    def __init__(self):
        self.old = "old"


def f(x, registry):
    for index in range(2):
        setattr(registry, f"part_{index}", x[index] + index)
    delattr(registry, "old")
    return hasattr(registry, "old"), registry.part_1 * 2


def inputs():
    return torch.randn(2, 2), Registry()
