# graphs: 4
"""A loop over a generator prints; the generator lives over the break with tensors of its own."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def running(x):
    total = x
    for k in range(3):
        total = total * 2 + k
        yield total


def f(x):
    out = []
    for value in running(x.sin()):
        out.append(value + 1)
        say("got", len(out))
    return torch.stack(out)


def inputs():
    return (torch.randn(2),)


calls = [inputs]
