# graphs: 1
# backends: eager
"""A module under autocast, with gradients to its float32 parameters. AOTAutograd adds them up in another order."""

import torch

net = torch.nn.Linear(4, 4)


def f(x):
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        y = net(net(x))
    return y.float().sum()


def inputs():
    return (torch.randn(2, 4),)
