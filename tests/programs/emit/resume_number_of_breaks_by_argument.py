# graphs: 5
"""Zero, one or two levels of messages: the graphs of a call are as many as its breaks, plus one."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, level):
    y = x + 1
    if level > 0:
        say("first")
    y = y * 3
    if level > 1:
        say("second")
    return y - 1


def inputs():
    return torch.randn(2), 0


def one():
    return torch.randn(2), 1


def two():
    return torch.randn(2), 2


calls = [inputs, one, two]
