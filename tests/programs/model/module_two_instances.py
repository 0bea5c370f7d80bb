# graphs: 1
"""Two instances of one class with different weights, called one after the other."""

import torch


class Layer(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), scale))

    def forward(self, x):
        return x * self.weight


first, second = Layer(2.0), Layer(3.0)


def f(x):
    return second(first(x)) + first(x)


def inputs():
    return (torch.randn(3),)
