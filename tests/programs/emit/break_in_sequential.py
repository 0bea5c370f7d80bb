# graphs: 3
"""A Sequential with two printing layers among others."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Show(torch.nn.Module):
    def __init__(self, label):
        super().__init__()
        self.label = label

    def forward(self, x):
        say(self.label, x.shape[-1])
        return x


net = torch.nn.Sequential(torch.nn.Linear(4, 3), Show("a"), torch.nn.ReLU(), torch.nn.Linear(3, 2), Show("b"), torch.nn.Softmax(-1))


def f(x):
    return net(x - 1)


def inputs():
    return (torch.randn(2, 4),)
