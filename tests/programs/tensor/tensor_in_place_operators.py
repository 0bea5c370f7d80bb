# graphs: 1
"""In-place methods on an intermediate tensor and on an argument, with views between."""

import torch


def f(x):
    y = x.clone()
    row = y[0]
    row.add_(10)
    y.mul_(2)
    x.sub_(1).clamp_(min=0)
    y.t_()
    return y, row


def inputs():
    return (torch.randn(2, 3),)
