# graphs: 1
"""A gradient penalty asks autograd in the middle."""

import torch


def f(x, weight):
    score = (x * weight).tanh().sum()
    (gradient,) = torch.autograd.grad(score, x, create_graph=True)
    return (gradient.norm() - 1) ** 2 + score


def inputs():
    return torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
