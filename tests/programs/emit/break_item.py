# graphs: 2
"""The value of a tensor becomes a Python number that scales the rest."""

import torch


def f(x):
    top = int(x.abs().max())
    return x / top, top


def inputs():
    return (torch.tensor([1.0, -4.0, 2.0]),)
