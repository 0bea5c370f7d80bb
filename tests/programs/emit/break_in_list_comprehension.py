# graphs: 3
"""A list comprehension calls a function that prints."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def scaled(x, factor):
    say("factor", factor)
    return x * factor


def f(x, factors):
    y = x + 1
    outputs = [scaled(y, factor) for factor in factors]
    return torch.cat(outputs).sum()


def inputs():
    return torch.randn(2), [2.0, 0.5]
