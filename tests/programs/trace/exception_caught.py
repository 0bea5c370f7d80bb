# graphs: 1
"""raise and except in one function, with the exception's value used."""

import torch


def f(x):
    try:
        raise ValueError("n", 3)
    except ValueError as error:
        n = error.args[1]
    return x * n


def inputs():
    return (torch.randn(2),)
