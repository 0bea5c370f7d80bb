# graphs: 3
"""The else block of a loop that was not left prints."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, limit):
    for row in x.unbind(0):
        x = x + row.sum()
        if limit < 0:
            break
    else:
        say("all rows seen")
        x = x - 1
        say("shifted")
    return x.sigmoid()


def inputs():
    return torch.randn(2, 2), 3
