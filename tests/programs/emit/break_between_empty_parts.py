# graphs: 2
"""Between two breaks nothing is computed with tensors, only lists change."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    log = []
    y = x + 1
    say("one")
    log.append(1)
    log.extend(range(2))
    say("two", log)
    log[0] = "changed"
    say("three")
    return y * len(log), log


def inputs():
    return (torch.randn(2),)
