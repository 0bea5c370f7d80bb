# graphs: 3
"""A module is switched between training and evaluation; the flag is read after the break."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(3, 3)

    def forward(self, x):
        y = self.project(x)
        say("projected")
        if self.training:
            y = y * 2
        return y.relu()


f = net = Net()


def inputs():
    net.train()
    return (torch.randn(2, 3),)


def evaluating():
    net.eval()
    return (torch.randn(2, 3),)


calls = [inputs, evaluating, inputs]
