# graphs: 2
"""A submodule prints, inside of the forward method of its parent."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Noisy(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        say("noisy", self.training)
        return y + 1


class Parent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(3, 3)
        self.noisy = Noisy()
        self.norm = torch.nn.LayerNorm(3)

    def forward(self, x):
        return self.norm(self.noisy(self.project(x)) + x)


f = Parent()


def inputs():
    return (torch.randn(2, 3),)
