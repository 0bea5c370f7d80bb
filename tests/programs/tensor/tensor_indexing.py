# graphs: 1
"""Indexing: integers, slices, ellipsis, None, lists, boolean and long tensors."""

import torch


def f(x, index, mask):
    a = x[1, ..., None, ::2]
    b = x[[0, 2]]
    c = x[:, index]
    d = torch.where(mask[:, None, None], x, 0)
    e = x[index, :, 0]
    return a, b, c, d, e, x[-1][-1][-1]


def inputs():
    return torch.randn(3, 4, 5), torch.tensor([2, 0]), torch.tensor([True, False, True])
