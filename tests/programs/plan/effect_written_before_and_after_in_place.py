# graphs: 1
"""A tensor is stored in an argument, then changed in place: the stored one is the changed one."""

import torch


def f(x, store):
    y = x * 2
    store.append(y)
    store.append(y.clone())
    y.add_(10)
    store[0][0] = -1
    x.copy_(y)
    return y is store[0], store[0] + store[1]


def inputs():
    return torch.randn(2), []
