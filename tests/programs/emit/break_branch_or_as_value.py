# graphs: 2
"""`or` between tensors gives the second tensor, not a bool."""

import torch


def f(x):
    flag = (x > 90).any() or (x > 2).sum()
    return flag, x + 1


def inputs():
    return (torch.arange(5.0),)
