# graphs: 17
"""Tensors indexed by objects with __index__ that torch takes for something else first: they have items, or a __torch_function__."""

import torch

LOG = []


class Index:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        LOG.append("index")
        return self.n


class Items(Index):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return [0, self.n][index]


class Override(Index):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return args[0].neg()


class Asked(Index):
    def __getattr__(self, name):
        LOG.append(name)
        raise ValueError(name)


class Answers(Index):
    def __getattr__(self, name):
        LOG.append(name)
        return lambda function, types, args=(), kwargs=None: args[0].cos()


KINDS = [Index, Items, Override, Asked, Answers]


def f(x, kind):
    y = x * 2
    z = x.clone()
    z[kind(1)] = 5.0
    return y[kind(1)].sin(), y[kind(1), kind(2)], y[: kind(2)] + 1, z


def inputs():
    return torch.arange(12.0).reshape(3, 4), Index


def of(kind):
    return lambda: (torch.arange(12.0).reshape(3, 4), kind)


calls = [of(kind) for kind in KINDS]
