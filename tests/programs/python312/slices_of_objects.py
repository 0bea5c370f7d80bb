# graphs: 1
"""Slices that are read and stored: of tensors, lists, and objects whose __getitem__ and __setitem__ see them."""

import torch


class Sees:
    def __init__(self):
        self.seen = []

    def __getitem__(self, key):
        self.seen.append(key)
        return key

    def __setitem__(self, key, value):
        self.seen.append((key, value))


def f(x, items, i, j):
    sees = Sees()
    sees[i:j] = 3
    sees[: j + 1]
    x = x.clone()
    x[i:j] = x[j : j + 1] * 2
    items[i:j] = ["a", "b", "c"]
    return x[i:], items[:j], [str(part) for part in sees.seen]


def inputs():
    return torch.arange(6.0), [1, 2, 3, 4], 1, 3
