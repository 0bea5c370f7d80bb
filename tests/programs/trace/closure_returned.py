# graphs: 1
"""A function made inside is the result: it still works afterwards, over the same tensor."""

import torch


def f(x):
    y = x * 2

    def later():
        return y

    return later, y


def inputs():
    return (torch.randn(3),)
