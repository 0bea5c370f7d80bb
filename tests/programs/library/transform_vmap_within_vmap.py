# graphs: 1
"""vmap of vmap: an outer product."""

import torch


def f(x):
    product = torch.vmap(torch.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))
    return product(x[0], x[:, 1])

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
