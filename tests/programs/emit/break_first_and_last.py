# graphs: 2
"""The first and the last statement print; so does one in the middle."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    say("begin")
    y = x.sin() + 1
    say("middle")
    z = y.cos()
    say("end", z.shape)
    return z


def inputs():
    return (torch.randn(3),)
