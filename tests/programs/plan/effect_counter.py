# graphs: 1
"""A Counter argument counts shapes and names."""

import collections

import torch


def f(counts, tensors):
    for tensor in tensors:
        counts[tuple(tensor.shape)] += 1
    counts.update(["batch", "batch"])
    counts["gone"] -= 1
    return counts["never"], sum(t.sum() for t in tensors)


def inputs():
    return collections.Counter(gone=1, batch=4), [torch.randn(2), torch.randn(3), torch.randn(2)]
