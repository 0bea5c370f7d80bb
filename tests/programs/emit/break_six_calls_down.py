# graphs: 2
"""The break is six calls down, and every caller computes before and after its call."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def six(x):
    say("bottom")
    return x + 6


def five(x):
    return six(x * 5) - 5


def four(x):
    return five(x * 4) - 4


def three(x):
    return four(x * 3) - 3


def two(x):
    return three(x * 2) - 2


def one(x):
    return two(x + 1) - 1


def f(x):
    return one(x.sin()).cos()


def inputs():
    return (torch.randn(2),)
