# graphs: 1
"""The whole function under no_grad by a decorator outside."""

import torch


def inner(x, weight):
    return (x @ weight).relu()


f = torch.no_grad()(inner)


def inputs():
    return torch.randn(2, 3), torch.randn(3, 3, requires_grad=True)
