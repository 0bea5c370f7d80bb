# graphs: 2
"""The forward method of a module prints between two layers."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 3)
        self.second = torch.nn.Linear(3, 2)

    def forward(self, x):
        hidden = self.first(x).relu()
        say("hidden", tuple(hidden.shape))
        return self.second(hidden)


f = Net()


def inputs():
    return (torch.randn(2, 4),)
