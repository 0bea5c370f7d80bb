# graphs: 1
"""A class is defined in the function, and an instance of it is used."""

import torch


def f(x):
    y = x + 1

    class Scale:
        factor = 3

        def __call__(self, t):
            return t * self.factor

    return Scale()(y)


def inputs():
    return (torch.randn(2),)


calls = [inputs]
