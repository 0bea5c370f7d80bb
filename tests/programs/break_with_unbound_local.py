# graphs: 2
"""A variable that one path does not bind is read after a break."""

import torch


def f(x, flag):
    y = x + 1
    if flag:
        bonus = 3
    print("flag", flag)
    z = y * 2
    print("adding")
    return z + bonus


def inputs():
    return torch.randn(2), False
