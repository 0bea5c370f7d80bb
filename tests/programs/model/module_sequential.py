# graphs: 1
"""Sequential: call, index, slice, iteration and length."""

import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3), torch.nn.Tanh())


def f(x):
    y = net(x)
    for layer in net[1:3]:
        y = layer(y)
    return y, net[-1](x), len(net)


def inputs():
    return (torch.randn(2, 3),)
