# graphs: 0
"""eval() and train() called inside."""

import torch

net = torch.nn.Dropout(0.5)


def f(x):
    net.eval()
    y = net(x)
    net.train()
    return y, net.training


def inputs():
    return (torch.randn(3),)
