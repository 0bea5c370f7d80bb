# graphs: 4
"""A generator function prints before it yields; the loop that consumes it computes."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def scales(n):
    for k in range(n):
        say("yielding", k)
        yield k + 1
    say("exhausted")


def f(x):
    y = x + 1
    for scale in scales(2):
        y = y * scale
    return y.neg()


def inputs():
    return (torch.randn(2),)


calls = [inputs]
