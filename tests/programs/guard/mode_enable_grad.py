# graphs: 1
"""enable_grad within no_grad, and set_grad_enabled as context."""

import torch


def f(x):
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 3
        c = x * 4
    with torch.set_grad_enabled(a.requires_grad):
        d = x * 5
    return a, b, c, d


def inputs():
    return (torch.randn(3, requires_grad=True),)
