# graphs: 2
"""Iterators that stand half way at a break: over a deque both ways, a dict and an OrderedDict backwards, pairs, and two of one tee."""

import collections
import itertools

import torch

import minidynamo


def f(x, outside, known):
    made = collections.deque([1, 2, 3, 4], maxlen=6)
    outside.append(5)
    known["last"] = 9
    walks = [
        iter(made),
        reversed(made),
        iter(outside),
        reversed(known),
        reversed(known.items()),
        reversed({"a": 1, "b": 2, "c": 3}.values()),
        reversed(collections.OrderedDict(a=1, b=2, c=3)),
        reversed(collections.OrderedDict(a=1, b=2, c=3).items()),
        itertools.pairwise("abcd"),
        itertools.pairwise(iter([1, 2])),
        *itertools.tee(iter(range(5))),
    ]
    seen = [next(walk) for walk in walks[:-1]]
    ended = [iter(collections.deque()), reversed({}), itertools.pairwise(()), reversed(collections.OrderedDict())]
    seen.append([next(walk, None) for walk in ended])
    y = x * 2
    minidynamo.graph_break()
    y = y + seen[0]
    minidynamo.graph_break()
    return y, seen, [list(walk) for walk in walks], [list(walk) for walk in ended]


def inputs():
    return torch.ones(2), collections.deque([3, 4]), {"first": 7, "second": 8}
