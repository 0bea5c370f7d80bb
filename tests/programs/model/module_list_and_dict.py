# graphs: 1
"""ModuleList and ModuleDict: iteration, indexing, membership, items."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))
        self.heads = torch.nn.ModuleDict({"a": torch.nn.Linear(3, 1), "b": torch.nn.Linear(3, 2)})

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            x = layer(x) + index
        x = self.layers[-1](x) * len(self.layers)
        return {name: head(x) for name, head in self.heads.items()}, "a" in self.heads


f = Net()


def inputs():
    return (torch.randn(2, 3),)
