# graphs: 1
"""C functions call methods of arguments for their effect: map, filter, sorted with a key, max."""

import torch


def f(x, names, log):
    lengths = list(map(len, names))
    list(map(log.append, lengths))
    kept = list(filter(lambda name: log.append(name) or len(name) > 1, names))
    longest = max(names, key=lambda name: (log.append("key"), len(name))[1])
    names.sort(key=len)
    return x * sum(lengths), kept, longest


def inputs():
    return torch.randn(2), ["ccc", "a", "bb"], []
