# graphs: 1
"""out= writes into a tensor made inside and into an argument."""

import torch


def f(x, target):
    mine = torch.empty(3)
    torch.sin(x, out=mine)
    torch.add(mine, 1, out=target)
    return mine * 2


def inputs():
    return torch.randn(3), torch.zeros(3)
