# graphs: 1
"""A condition within a branch."""

import torch


def f(x):
    def small(x):
        return torch.cond(x.sum() > 1, lambda x: x.exp(), lambda x: x.abs() + 1, (x,))

    return torch.cond(x.sum() < 3, small, lambda x: x.cos(), (x,))


def inputs():
    torch.manual_seed(0)
    return (torch.rand(3, 4, requires_grad=True),)


def negative():
    torch.manual_seed(0)
    return ((-torch.rand(3, 4)).requires_grad_(),)


calls = [inputs, negative, inputs]
