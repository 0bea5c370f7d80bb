# graphs: 3
"""A forward pre-hook and a forward hook of a submodule print."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)
        self.inner.register_forward_pre_hook(lambda module, args: say("before", len(args)))
        self.inner.register_forward_hook(lambda module, args, output: (say("after"), output * 2)[1])

    def forward(self, x):
        return self.inner(x + 1).sin()


f = Net()


def inputs():
    return (torch.randn(2, 3),)
