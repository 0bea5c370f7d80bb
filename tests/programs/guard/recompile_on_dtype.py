# graphs: 2
"""Another dtype makes another graph."""

import torch


def f(x):
    return x * 2 if x.dtype is torch.float32 else x + 1


def inputs():
    return (torch.ones(2),)


def integers():
    return (torch.ones(2, dtype=torch.int64),)


calls = [inputs, integers, inputs]
