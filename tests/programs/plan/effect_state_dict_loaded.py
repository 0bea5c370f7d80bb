# graphs: 1
"""Weights of one module are copied into another one, name by name."""

import torch


def f(source, target, x):
    with torch.no_grad():
        own = dict(target.named_parameters())
        for name, parameter in source.named_parameters():
            own[name].copy_(parameter)
    return target(x)


def inputs():
    return torch.nn.Linear(2, 3), torch.nn.Linear(2, 3), torch.randn(1, 2)
