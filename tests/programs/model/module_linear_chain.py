# graphs: 1
"""A module of linear layers and a functional activation; gradients reach its parameters."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 2, bias=False)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


f = Net()


def inputs():
    return (torch.randn(3, 4),)
