# graphs: 1
"""A subclass of dict logs its writes; two of them and a plain list interleave."""

import torch

LOG = []


class Logged(dict):
    def __setitem__(self, key, value):
        LOG.append(("set", key))
        super().__setitem__(key, value)

    def __delitem__(self, key):
        LOG.append(("del", key))
        super().__delitem__(key)


def f(x, first, second):
    first["a"] = x + 1
    second["b"] = 2
    LOG.append("between")
    del first["old"]
    return first["a"] * second["b"], len(first)


def inputs():
    return torch.randn(2), Logged(old=1), Logged()


calls = [inputs]
