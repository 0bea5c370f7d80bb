# graphs: 2
"""A graph that needs no gradient gives two views of one tensor; after it, one is written to with a tensor that needs a gradient."""

import torch


def f(x):
    y = (x + 1).view(2, 2)
    flat = y.view(-1)
    other = x.clone().requires_grad_()
    flat.add_(other * 2)
    return y, flat


def inputs():
    return (torch.arange(4.0),)
