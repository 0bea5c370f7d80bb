# graphs: 2
"""A training step by hand, with a graph break in its middle: the backward pass of what came before runs as it does without capture."""

import torch

import minidynamo


def f(weight, x):
    loss = (x @ weight).square().mean()
    minidynamo.graph_break()
    loss.backward()
    with torch.no_grad():
        stepped = weight - 0.1 * weight.grad
    return stepped, loss.detach()


def inputs():
    return torch.randn(3, 2, requires_grad=True), torch.randn(4, 3)
