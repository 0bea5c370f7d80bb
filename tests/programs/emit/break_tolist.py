# graphs: 2
"""Lengths are read from a tensor and cut a batch into pieces."""

import torch


def f(x, lengths):
    bounds = torch.cumsum(lengths, 0).tolist()
    pieces, start = [], 0
    for end in bounds:
        pieces.append(x[start:end].sum())
        start = end
    return torch.stack(pieces), bounds


def inputs():
    return torch.randn(6), torch.tensor([1, 3, 2])
