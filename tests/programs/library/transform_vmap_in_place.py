# graphs: 1
"""In-place operators and item assignment on mapped values."""

import torch


def f(x):
    def body(row):
        row = row.clone()
        row[0] = 2.0
        row.mul_(3)
        return row

    return torch.vmap(body)(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
