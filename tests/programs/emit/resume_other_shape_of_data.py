# graphs: 2
"""Inputs of one shape give masks of different sizes: only the part after the break is compiled again."""

import torch


def f(x):
    y = x * 2
    kept = y[y > 1]
    if kept.shape[0] > 1:
        kept = kept + 1
    return kept.sort().values - kept.mean()


def inputs():
    return (torch.tensor([0.0, 1.0, 2.0]),)


def more():
    return (torch.tensor([3.0, 1.0, 2.0]),)


calls = [inputs, more, inputs]
