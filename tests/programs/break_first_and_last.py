# graphs: 2
"""The first and the last statement print; so does one in the middle."""

import torch


def f(x):
    print("begin")
    y = x.sin() + 1
    print("middle")
    z = y.cos()
    print("end", z.shape)
    return z


def inputs():
    return (torch.randn(3),)
