# graphs: 1
"""for ... else: with and without break."""

import torch


def search(x, wanted):
    for i in range(4):
        if i == wanted:
            x = x * i
            break
    else:
        x = x - 1
    return x


def f(x):
    return search(x, 2), search(x, 9)


def inputs():
    return (torch.randn(3),)
