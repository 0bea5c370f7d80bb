# graphs: 2
"""Of three classes one is returned: the one before it stays in the first graph, the one behind it in the second."""

import torch


def f(x):
    x = x + 1

    class First:
        scale = 2

    y = x.sin() * First().scale

    class Kept:
        scale = 3

    class Last:
        scale = 5

    return y * Last().scale, Kept


def inputs():
    return (torch.randn(2),)


calls = [inputs]
