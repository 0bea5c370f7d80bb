# graphs: 3
"""Gradients flow through three graphs with printed text between them."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, weight):
    y = torch.tanh(x * weight)
    say("y", y.requires_grad)
    z = y.square() + weight
    say("z", z.requires_grad)
    return (z * x).sum(), y.detach() + 1


def inputs():
    return torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
