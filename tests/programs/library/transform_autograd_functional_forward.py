# graphs: 1
"""torch.autograd.functional: jvp, hvp, hessian."""

import torch


from torch.autograd import functional


def f(x):
    y = x.detach()
    return (
        functional.jvp(torch.tanh, y, y),
        functional.hvp(lambda a: a.exp().sum(), y[0], y[1]),
        functional.hessian(lambda a: a.sin().sum(), y[2]),
    )

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
