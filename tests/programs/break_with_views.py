# graphs: 3
"""A view taken before a break shares memory with its base, which is written after it."""

import torch


def f(x):
    base = x * 2
    row = base[0]
    print("view taken")
    base.add_(1)
    total = row.sum()
    print("base written")
    row.zero_()
    return base, row, total


def inputs():
    return (torch.ones(2, 3),)
