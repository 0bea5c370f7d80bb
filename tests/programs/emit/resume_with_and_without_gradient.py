# graphs: 4
"""The same function is called with an input that requires a gradient, and with one that does not."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    y = x.sin()
    say(y.requires_grad)
    return y * y


def inputs():
    return (torch.randn(2, requires_grad=True),)


def plain():
    return (torch.randn(2),)


calls = [inputs, plain, inputs]
