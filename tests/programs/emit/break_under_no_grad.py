# graphs: 2
"""A break inside of no_grad: the rest of the block is without gradients, what follows it has them."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, weight):
    with torch.no_grad():
        y = x @ weight
        say("in the block", torch.is_grad_enabled())
        z = y * weight.sum()
    out = z + weight.mean()
    return z, out, torch.is_grad_enabled()


def inputs():
    return torch.randn(2, 2), torch.randn(2, 2, requires_grad=True)
