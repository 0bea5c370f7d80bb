# graphs: 1
"""The body raises: the levels are left, and the handler goes on with tensors."""

import torch


def f(x):
    def body(row):
        if row.shape[0] == 3:
            raise KeyError("three")
        return row

    try:
        torch.vmap(torch.func.grad(body))(x)
    except KeyError as error:
        return x + 1, error.args
    return x

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
