# graphs: 1
"""parameters(), named_parameters(), named_modules(), children() and get_submodule() inside."""

import torch

net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 1)))


def f(x):
    penalty = sum(parameter.pow(2).sum() for parameter in net.parameters())
    names = [name for name, _ in net.named_parameters()]
    kinds = [type(module).__name__ for _, module in net.named_modules()]
    return net(x) + penalty, names, kinds, len(list(net.children())), net.get_submodule("1.0")(x)


def inputs():
    return (torch.randn(3, 2),)
