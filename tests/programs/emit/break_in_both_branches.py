# graphs: 4
"""Both sides of an if statement print; the two calls take one side each."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, training):
    y = x + 1
    if training:
        say("training")
        y = y * 2
    else:
        say("evaluating")
        y = y - 2
    return y.abs()


def inputs():
    return torch.randn(3), True


def evaluating():
    return torch.randn(3), False


calls = [inputs, evaluating, inputs]
