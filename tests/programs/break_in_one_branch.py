# graphs: 3
"""Only one side of an if statement has a break; the other one is a single graph."""

import torch


def f(x, verbose):
    y = x.sin()
    if verbose:
        print("sin is done")
    return y.cos()


def inputs():
    return torch.randn(3), True


def quiet():
    return torch.randn(3), False


calls = [inputs, quiet]
