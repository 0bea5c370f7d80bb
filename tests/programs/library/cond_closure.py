# graphs: 1
"""Branches that use tensors of the function around them; no operands."""

import torch


def f(x, matrix):
    y = x * 2
    offset = torch.ones(4)

    def when_true():
        return y @ matrix + offset

    def when_false():
        return y - x

    return torch.cond(x.sum() > 0, when_true, when_false, ())


def inputs():
    torch.manual_seed(0)
    return torch.rand(3, 4, requires_grad=True), torch.full((4, 4), 0.25, requires_grad=True)


def negative():
    torch.manual_seed(0)
    return (-torch.rand(3, 4)).requires_grad_(), torch.full((4, 4), 0.5, requires_grad=True)


calls = [inputs, negative, inputs]
