# graphs: 1
"""while with break and continue."""

import torch


def f(x, limit):
    i = 0
    while True:
        i += 1
        if i % 2:
            continue
        if i > limit:
            break
        x = x + i
    return x


def inputs():
    return torch.randn(3), 6
