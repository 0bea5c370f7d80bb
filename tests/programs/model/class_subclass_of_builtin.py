# graphs: 1
"""Subclasses of list and dict with methods of their own."""

import torch


class Chain(list):
    def __call__(self, x):
        for step in self:
            x = step(x)
        return x


class Defaults(dict):
    def __missing__(self, key):
        self[key] = len(key)
        return self[key]


def f(x):
    chain = Chain([torch.sin])
    chain.append(lambda y: y * 2)
    table = Defaults(a=5)
    return chain(x) + table["a"] + table["bbb"], table, len(chain)


def inputs():
    return (torch.randn(2),)
