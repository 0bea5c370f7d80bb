# graphs: 1
"""Tensors are told apart by id in a set, as loops over shared parameters do."""

import torch


def f(weights):
    seen, total = set(), 0
    for weight in weights:
        if id(weight) not in seen:
            seen.add(id(weight))
            total = total + weight.sum()
    return total, len(seen)


# The numbers are these tensors' own: with others the function is captured again.
SHARED, OTHER = torch.randn(2), torch.randn(2)


def inputs():
    return ([SHARED, OTHER, SHARED],)
