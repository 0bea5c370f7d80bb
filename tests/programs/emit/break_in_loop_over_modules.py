# graphs: 3
"""A loop over a ModuleList prints after each layer; the layers have equal shapes."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
            say("layer")
        return x.sum(-1)


f = Stack()


def inputs():
    return (torch.randn(2, 3),)
