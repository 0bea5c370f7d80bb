# graphs: 2
"""Functions called by map and filter print."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def parsed(text):
    say("parse", text)
    return float(text)


def is_positive(number):
    say("test", number)
    return number > 0


def f(x, texts):
    y = x.tanh()
    numbers = list(filter(is_positive, map(parsed, texts)))
    return y * sum(numbers), numbers


def inputs():
    return torch.randn(2), ["1.5", "-2", "0.25"]
