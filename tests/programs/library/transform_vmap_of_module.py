# graphs: 1
"""A module is mapped over the rows."""

import torch


torch.manual_seed(0)
LAYER = torch.nn.Linear(3, 2)


def f(x):
    return torch.vmap(LAYER)(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
