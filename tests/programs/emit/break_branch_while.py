# graphs: 3
# graphs_314: 3
# graphs_312: 4
"""A loop that goes on while a tensor is too large."""

import torch


def f(x):
    while x.norm() > 1:
        x = x / 2
    return x + 1


def inputs():
    return (torch.full((4,), 8.0),)
