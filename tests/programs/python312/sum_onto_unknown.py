# graphs: 2
"""sum() onto a number that a tensor has: more than one addition keeps errors, of which the trace knows nothing."""

import torch


def f(x, values):
    start = (x * 2).sum().item()
    return x * sum(values, start), sum(values[:1], start)


def inputs():
    return torch.ones(2), [0.1] * 10
