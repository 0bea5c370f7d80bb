# graphs: 1
"""Modules called with keyword and optional arguments, some of them other modules."""

import torch


class Inner(torch.nn.Module):
    def forward(self, x, *, scale=1.0, extra=None, activation=torch.nn.Identity()):
        y = activation(x * scale)
        return y if extra is None else y + extra


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.act = torch.nn.Tanh()

    def forward(self, x):
        return self.inner(x, scale=2) + self.inner(x=x, extra=x, activation=self.act)


f = Outer()


def inputs():
    return (torch.randn(3),)
