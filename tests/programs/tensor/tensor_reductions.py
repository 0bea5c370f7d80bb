# graphs: 1
"""Reductions over dimensions with several outputs, read by name and by position."""

import torch


def f(x):
    largest = x.max(dim=1)
    values, indices = x.topk(2)
    median = torch.median(x, dim=0)
    ordered = torch.sort(x, descending=True)
    variance, mean = torch.var_mean(x, dim=-1)
    return largest.values + mean, largest.indices, values, indices, median[0], ordered.indices, variance, x.argmax(), x.norm()


def inputs():
    return (torch.randn(3, 4),)
