# graphs: 1
"""A function defined inside the captured one, closing over an intermediate tensor."""

import torch


def f(x):
    y = x.exp()

    def add(z):
        return y + z

    return add(x) * add(1.0)


def inputs():
    return (torch.randn(3),)
