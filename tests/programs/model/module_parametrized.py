# graphs: 1
"""A parametrization: the weight is computed from another parameter at every access."""

import torch
from torch.nn.utils import parametrize


class Symmetric(torch.nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).T


f = torch.nn.Linear(3, 3)
parametrize.register_parametrization(f, "weight", Symmetric())


def inputs():
    return (torch.randn(2, 3),)
