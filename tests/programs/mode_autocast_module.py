# graphs: 1
"""A module under autocast, with gradients to its float32 parameters."""

import torch

net = torch.nn.Linear(4, 4)


def f(x):
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        y = net(net(x))
    return y.float().sum()


def inputs():
    return (torch.randn(2, 4),)
