# graphs: 2
"""itertools.batched, also half way at a break, over tensors and over an iterator of the program's own."""

import itertools

import torch

import minidynamo


def f(x, count):
    whole = [sum(batch) for batch in itertools.batched(x.unbind(), 2)]
    half = itertools.batched((n * n for n in range(count)), 3)
    taken = next(half)
    y = x * taken[1]
    minidynamo.graph_break()
    return y + taken[2], whole, taken, list(half)


def inputs():
    return torch.arange(5.0), 8
