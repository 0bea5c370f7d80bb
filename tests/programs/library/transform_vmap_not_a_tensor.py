# graphs: 1
"""A value that is no tensor leaves vmap with out_dims None."""

import torch


def f(x):
    return torch.vmap(lambda row: (row.sum(), row.dim()), out_dims=(0, None))(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
