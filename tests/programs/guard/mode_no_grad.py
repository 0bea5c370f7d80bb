# graphs: 1
"""no_grad as context and as decorator."""

import torch


@torch.no_grad()
def quiet(x):
    return x * 3


def f(x):
    with torch.no_grad():
        a = x * 2
        inside = torch.is_grad_enabled()
    return a, quiet(x), x + 1, inside, torch.is_grad_enabled()


def inputs():
    return (torch.randn(3, requires_grad=True),)
