# graphs: 2
"""The same tensor given twice is another case than two tensors."""

import torch


def f(x, y):
    x.mul_(2)
    return y + 1


def inputs():
    return torch.ones(2), torch.ones(2)


def aliased():
    x = torch.ones(2)
    return x, x


calls = [inputs, aliased, inputs, aliased]
