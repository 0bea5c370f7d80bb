# graphs: 2
"""A nonlocal variable is written by an inner function before and after a break."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    count = 0
    names = []

    def note(name):
        nonlocal count, names
        count += 1
        names = names + [name]

    note("before")
    y = x * count
    say(count, names)
    note("after")
    y = y + count
    return y, count, names


def inputs():
    return (torch.randn(2),)
