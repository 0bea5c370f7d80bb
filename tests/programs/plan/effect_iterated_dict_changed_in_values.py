# graphs: 1
"""A loop over a dict argument replaces its values, keeping the keys."""

import torch


def f(tensors):
    for name in tensors:
        tensors[name] = tensors[name] * len(name)
    for name, value in list(tensors.items()):
        if len(name) > 2:
            tensors[name + "_copy"] = tensors.pop(name)
    return sum(value.sum() for value in tensors.values())


def inputs():
    return ({"a": torch.randn(2), "long": torch.randn(3), "bb": torch.randn(1)},)
