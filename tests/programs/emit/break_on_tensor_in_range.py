# graphs: 2
"""range() over a count that a tensor holds."""

import torch


def f(x, count):
    doubled = count * 2
    for step in range(int(doubled)):
        x = x + step
    return x


def inputs():
    return torch.randn(2), torch.tensor(2)
