# graphs: 1
"""torch.autograd.functional by vmap."""

import torch


from torch.autograd import functional


def f(x):
    y = x.detach()[0]
    return functional.jacobian(torch.sin, y, vectorize=True), functional.jacobian(
        torch.sin, y, vectorize=True, strategy="forward-mode"
    )

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
