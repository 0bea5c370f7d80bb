# graphs: 1
"""unsqueeze_, t_ and squeeze_ change the shapes of arguments."""

import torch


def f(x, y):
    x.unsqueeze_(0)
    y.t_()
    y.squeeze_(0)
    return x + 1, y.shape, y.stride()


def inputs():
    return torch.randn(3), torch.randn(2, 3)
