# graphs: 1
"""Functions made in a loop share the loop variable."""

import torch


def f(x):
    functions = [lambda y: y * i for i in range(3)]
    return [function(x) for function in functions]


def inputs():
    return (torch.randn(2),)
