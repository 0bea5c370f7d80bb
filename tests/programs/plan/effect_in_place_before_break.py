# graphs: 2
"""A tensor argument is changed in place, read by the breaking call, and changed again."""

import torch


def f(x):
    x.add_(1)
    x.mul_(3)
    top = int(x.max())
    x.div_(top)
    return x * 2, top


def inputs():
    return (torch.arange(3.0),)
