# graphs: 1
"""An intermediate is detached in place, another keeps a gradient that nobody sees, and a number is given as a tensor."""

import torch


def f(x, weight):
    y = x * weight
    loss = (y * y).sum()
    y.retain_grad()
    z = loss * torch.full((3,), x[1])
    state = z * 2
    state.detach_()
    return loss, state, state * weight.sum()


def inputs():
    return torch.arange(3.0), torch.ones(3, requires_grad=True)
