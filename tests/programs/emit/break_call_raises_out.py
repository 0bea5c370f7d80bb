# graphs: 0
"""The call that ends the second graph raises, and nobody catches it."""

import torch


def f(x, text):
    y = x * 2
    print("parsing", text)
    z = y * 3
    return z + eval(text)


def inputs():
    return torch.randn(2), "2 +"
