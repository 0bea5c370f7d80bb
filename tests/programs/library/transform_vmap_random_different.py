# graphs: 1
"""Random numbers that differ from row to row."""

import torch


def f(x):
    return torch.vmap(lambda row: row + torch.randn(3), randomness="different")(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
