# graphs: 1
"""A module whose __getattribute__ answers for a method."""

import torch


class Net(torch.nn.Module):
    def __getattribute__(self, name):
        if name == "helper":
            return lambda x: x + 7
        return super().__getattribute__(name)

    def helper(self, x):
        return x

    def forward(self, x):
        return self.helper(x)


net = Net()


def f(x):
    return net(x)


def inputs():
    return (torch.ones(2),)
