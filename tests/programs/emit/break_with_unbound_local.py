# graphs: 2
"""A variable that one path does not bind is read after a break."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, flag):
    y = x + 1
    if flag:
        bonus = 3
    say("flag", flag)
    z = y * 2
    say("adding")
    return z + bonus


def inputs():
    return torch.randn(2), False
