# graphs: 9
"""More values than there may be entries: the last calls run the rest of the frame as it is."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break

NEXT = [0]


def f(x, power):
    y = x + 1
    say("raising")
    return y * len(power)


def inputs():
    NEXT[0] += 1
    return torch.ones(2), "." * NEXT[0]


calls = [inputs] * 10
