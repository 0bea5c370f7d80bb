# graphs: 2
"""The printed thing is a tensor that the graph computed."""

import torch


def f(x):
    total = x.sum()
    print(total, x.dtype, sep=" / ", end="!\n")
    return x / total


def inputs():
    return (torch.arange(1.0, 5.0),)
