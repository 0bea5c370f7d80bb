# graphs: 1
"""while ... else, and a condition with side effects through :=."""

import torch


def f(x):
    left = [3, 2, 1]
    total = x
    while left and (last := left.pop()):
        total = total * last
    else:
        total = total + len(left)
    return total


def inputs():
    return (torch.randn(3),)
