# graphs: 1
"""A gradient computed by hand is added to those that are there, and is the first where there is none."""

import torch


def f(weights, x):
    for weight in weights:
        gradient = x * 2
        if weight.grad is None:
            weight.grad = gradient
        else:
            weight.grad += gradient
    return weights[0].grad * weights[1].grad


def inputs():
    old, new = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    old.grad = torch.ones(2)
    return [old, new], torch.randn(2)
