# graphs: 1
"""A module counts its calls in a plain attribute and remembers a tensor."""

import torch


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.info = {"last": None}

    def forward(self, x):
        y = self.linear(x)
        self.info["last"] = y.detach()
        return y


f = Counting()


def inputs():
    return (torch.randn(1, 2),)


calls = [inputs]
