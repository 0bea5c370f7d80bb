# graphs: 1
"""jacrev and jacfwd give the same."""

import torch


def f(x):
    def body(row):
        return row.sin() * row.sum()

    return torch.func.jacrev(body)(x[0]), torch.func.jacfwd(body)(x[0]), torch.vmap(torch.func.jacrev(body))(x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
