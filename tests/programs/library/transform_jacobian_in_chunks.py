# graphs: 1
"""jacrev in chunks, for two arguments."""

import torch


def f(x):
    def body(a, b):
        return (a * b).cumsum(0)

    return torch.func.jacrev(body, argnums=(0, 1), chunk_size=2)(x[0], x[1])

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
