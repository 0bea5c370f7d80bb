# graphs: 1
"""torch.autograd.functional: jacobian, vjp, vhp."""

import torch


from torch.autograd import functional


def f(x):
    y = x.detach()
    return (
        functional.jacobian(lambda a: a.sin() * 2, y[0]),
        functional.vjp(torch.tanh, y, y),
        functional.vhp(lambda a: a.exp().sum(), y[0], y[1]),
    )

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
