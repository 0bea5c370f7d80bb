# graphs: 4
"""A while loop over a Python counter, which the graphs use as a number."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    count = 3
    while count > 0:
        x = x + count
        say("left", count)
        count -= 1
    return x * 2


def inputs():
    return (torch.randn(2),)


calls = [inputs]
