# graphs: 1
"""Under no_grad, grad still gives the gradient, which requires none."""

import torch


def f(x):
    with torch.no_grad():
        gradient = torch.func.grad(lambda y: y.sin().sum())(x)
    return gradient, x * gradient

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
