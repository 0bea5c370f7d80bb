# graphs: 2
"""requires_grad_ on an argument, seen by the operations after it."""

import torch


def f(x, frozen):
    y = x * 2
    x.requires_grad_()
    frozen.requires_grad_(False)
    return y.requires_grad, x * 3 + frozen


def inputs():
    return torch.randn(2), torch.randn(2, requires_grad=True)
