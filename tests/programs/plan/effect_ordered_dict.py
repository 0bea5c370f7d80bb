# graphs: 1
"""A least-recently-used cache in an OrderedDict argument."""

import collections

import torch


def f(cache, x):
    cache.move_to_end("a")
    cache["d"] = x + 1
    if len(cache) > 3:
        oldest = cache.popitem(last=False)
    cache.move_to_end("d", last=False)
    return list(cache), oldest, cache["d"] * 2


def inputs():
    return collections.OrderedDict(a=1, b=2, c=3), torch.randn(2)
