# graphs: 1
"""gather, scatter, index_select, index_add, take_along_dim, masked_fill, put."""

import torch


def f(x, index):
    a = x.gather(1, index)
    b = torch.zeros_like(x).scatter_(1, index, a)
    c = x.index_select(0, index[0])
    d = torch.zeros(3, 3).index_add(0, index[:, 0], x)
    e = torch.zeros(3).scatter_add(0, index[0], x[0])
    return a, b, c, d, e, x.masked_fill(x > 0, 0), torch.take_along_dim(x, index, 1), torch.cumsum(x, 0)


def inputs():
    return torch.randn(3, 3), torch.tensor([[0, 1, 2], [1, 1, 0], [2, 0, 1]])
