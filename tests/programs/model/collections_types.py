# graphs: 1
"""deque, defaultdict, Counter, OrderedDict, namedtuple."""

import collections

import torch

Pair = collections.namedtuple("Pair", "left right")


def f(x):
    queue = collections.deque([x, x + 1], maxlen=2)
    queue.append(x + 2)
    groups = collections.defaultdict(list)
    for i in range(4):
        groups[i % 2].append(x * i)
    counts = collections.Counter("abca")
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    pair = Pair(queue[0], right=counts["a"])
    return list(queue), dict(groups), pair, list(ordered), pair._replace(right=0)


def inputs():
    return (torch.randn(2),)
