# graphs: 1
"""ParameterList and ParameterDict."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList([torch.randn(3) for _ in range(3)])
        self.named = torch.nn.ParameterDict({"scale": torch.ones(3), "shift": torch.zeros(3)})

    def forward(self, x):
        for weight in self.weights:
            x = x * weight
        return x * self.named["scale"] + self.named.shift + self.weights[0]


f = Net()


def inputs():
    return (torch.randn(3),)
