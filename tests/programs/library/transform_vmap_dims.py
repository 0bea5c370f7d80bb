# graphs: 1
"""in_dims and out_dims, with an argument that is not mapped."""

import torch


def f(x):
    return torch.vmap(lambda a, b: a * b + 1, in_dims=(1, None), out_dims=1)(x, x[:, 0])

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
