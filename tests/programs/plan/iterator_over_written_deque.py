# graphs: 2
"""Iterators over containers that changed are put into a dict that changes behind them: each change is made once."""

import collections
import itertools

import torch

import minidynamo

stop = minidynamo.disable(len)  # a graph break




def f(x, queue, names, kept):
    y = x * 2
    queue.extend([1, 2])
    names["left"] = 3
    kept["calls"] = 1
    kept["parts"] = itertools.islice(queue, 10), iter(names)
    kept["items"] = iter(queue)
    size = stop(queue)
    return y + size, list(kept["parts"][0]), list(kept["parts"][1]), list(kept["items"]), list(queue)


def inputs():
    return torch.ones(3), collections.deque(), {}, {}
