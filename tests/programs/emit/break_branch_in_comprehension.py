# graphs: 4
"""A list comprehension filters tensors by their value."""

import torch


def f(tensors):
    kept = [t * 2 for t in tensors if t.sum() > 0]
    return len(kept), kept


def inputs():
    return ([torch.ones(2), -torch.ones(2), torch.full((2,), 3.0)],)
