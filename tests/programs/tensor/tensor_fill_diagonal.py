# graphs: 1
"""The diagonal of a matrix is filled: of a view of an argument, of a tall and of a wide one, of a tensor that needs a gradient."""

import torch


def f(x, y):
    y[0][0] = x.sum()
    first = y.fill_diagonal_(3)
    y.t()[:2].fill_diagonal_(0.5)
    y.view(3, 2).fill_diagonal_(-1.0)
    own = x * 2
    own.fill_diagonal_(True)
    torch.zeros(7, 3).fill_diagonal_(1, wrap=True)
    cube = torch.zeros(3, 3, 3).fill_diagonal_(2)
    return own, cube, first is y


def inputs():
    return torch.randn(2, 2, requires_grad=True), torch.ones(2, 3)
