# graphs: 1
"""A module that holds configuration objects, lists of functions and None."""

import dataclasses

import torch


@dataclasses.dataclass
class Config:
    hidden: int = 3
    bias: bool = True


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()
        self.steps = [torch.sin, torch.nn.functional.relu, lambda x: x + 1]
        self.linear = torch.nn.Linear(3, self.config.hidden)
        self.extra = None

    def forward(self, x):
        for step in self.steps:
            x = step(x)
        if self.config.bias and self.extra is None:
            x = self.linear(x) / self.config.hidden
        return x


f = Net()


def inputs():
    return (torch.randn(2, 3),)
