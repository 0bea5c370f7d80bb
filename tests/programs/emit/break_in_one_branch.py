# graphs: 3
"""Only one side of an if statement has a break; the other one is a single graph."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, verbose):
    y = x.sin()
    if verbose:
        say("sin is done")
    return y.cos()


def inputs():
    return torch.randn(3), True


def quiet():
    return torch.randn(3), False


calls = [inputs, quiet]
