# graphs: 1
"""Without gradients, in a module."""

import torch


class Choice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.ReLU())
        self.second = torch.nn.Sigmoid()

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.first, self.second, (x,))


choice = Choice()


def f(x):
    with torch.no_grad():
        return choice(x)


def inputs():
    torch.manual_seed(0)
    return (torch.rand(3, 4, requires_grad=True),)


def negative():
    torch.manual_seed(0)
    return ((-torch.rand(3, 4)).requires_grad_(),)


calls = [inputs, negative, inputs]
