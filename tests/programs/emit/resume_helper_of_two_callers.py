# graphs: 4
"""One helper with a break is called by two functions, which go on differently."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def helper(x):
    y = x.relu()
    say("helping")
    return y + 1


def left(x):
    return helper(x * 2) - 3


def right(x):
    return helper(x / 2).square()


def f(x, side):
    return left(x) if side == "left" else right(x)


def inputs():
    return torch.randn(2), "left"


def other():
    return torch.randn(2), "right"


calls = [inputs, other, inputs]
