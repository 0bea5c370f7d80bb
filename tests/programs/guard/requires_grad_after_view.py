# graphs: 3
"""A tensor is told to require a gradient after a view of it was made: the view requires one from then on."""

import torch

KEPT = {}


def f(x):
    made = torch.tensor([0.5, 1.0])
    KEPT["view"] = made.view(2)
    made.requires_grad_()
    return x + 1


def inputs():
    return (torch.randn(2),)
