# graphs: 2
"""A list of another length makes another graph."""

import torch


def f(items):
    return sum(items) * len(items)


def inputs():
    return ([torch.ones(2), torch.ones(2)],)


def longer():
    return ([torch.ones(2)] * 1 + [torch.zeros(2), torch.ones(2)],)


calls = [inputs, longer, inputs]
