# graphs: 2
"""The break is two calls below the captured function, with values of all three frames alive."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def inner(x, k):
    y = x * k
    say("inner", k)
    return y + k


def middle(x):
    a = x.sin()
    b = inner(a, 3)
    return a + b


def f(x):
    c = x.cos()
    d = middle(c)
    return c * d


def inputs():
    return (torch.randn(3),)
