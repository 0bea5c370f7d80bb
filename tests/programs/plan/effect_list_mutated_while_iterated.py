# graphs: 1
"""A loop over a list argument appends to it and removes from it."""

import torch


def f(work, x):
    visited = []
    for item in work:
        visited.append(item)
        x = x + item
        if item < 3:
            work.append(item + 2)
        elif item == 3:
            work.remove(2)
    return x, visited


def inputs():
    return [1, 2], torch.randn(2)
