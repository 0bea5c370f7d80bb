# graphs: 1
"""The gradient of a parameter is read, scaled, replaced and taken away."""

import torch

weight = torch.nn.Parameter(torch.arange(4.0))
weight.grad = torch.ones(4)
bias = torch.nn.Parameter(torch.zeros(4))
bias.grad = torch.ones(4)


def f(x):
    weight.grad = weight.grad * 2 + x
    weight.grad.clamp_(max=5)
    total = weight.grad.sum()
    bias.grad, before = None, bias.grad
    bias.grad = before if bias.grad is None else None
    return total, weight * x


def inputs():
    return (torch.arange(4.0),)
