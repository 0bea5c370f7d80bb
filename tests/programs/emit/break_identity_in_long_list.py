# graphs: 0
"""A number that id() gave lies deep in a list of constants that outlives a break."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    own = [x]
    rows = [(i, i * 2) for i in range(20)]
    rows.append((20, id(own)))
    y = x * 2
    say("rows:", len(rows))
    return y + 1, rows[:20], rows[20][1] == id(own)


def inputs():
    return (torch.randn(2),)
