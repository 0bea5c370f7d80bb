# graphs: 1
"""A condition on a tensor's values: both branches are graphs within the graph."""

import torch


def f(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * 3, (x,)) + 1


def inputs():
    torch.manual_seed(0)
    return (torch.rand(3, 4, requires_grad=True),)


def negative():
    torch.manual_seed(0)
    return ((-torch.rand(3, 4)).requires_grad_(),)


calls = [inputs, negative, inputs]
