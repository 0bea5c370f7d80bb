# graphs: 5
"""Zero, one or two levels of messages: the graphs of a call are as many as its breaks, plus one."""

import torch


def f(x, level):
    y = x + 1
    if level > 0:
        print("first")
    y = y * 3
    if level > 1:
        print("second")
    return y - 1


def inputs():
    return torch.randn(2), 0


def one():
    return torch.randn(2), 1


def two():
    return torch.randn(2), 2


calls = [inputs, one, two]
