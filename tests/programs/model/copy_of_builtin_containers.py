# graphs: 1
"""copy.copy and copy.deepcopy of sets, deques and ordered dicts, from outside and made inside."""

import collections
import copy

import torch


class Settings:
    def __init__(self):
        self.names = {"a", "b"}
        self.queue = collections.deque([1, [2]], maxlen=3)
        self.table = collections.OrderedDict(a=[1], b=2)


def f(x, settings, names):
    deep, shallow = copy.deepcopy(settings), copy.copy(settings.table)
    deep.names.add("c")
    deep.queue[1].append(3)
    deep.table["a"].append(4)
    made = copy.deepcopy({frozenset({1}), "x"}), copy.copy(collections.deque([1, 2])), copy.deepcopy(names)
    return x * len(deep.names), deep, shallow, shallow["a"] is settings.table["a"], made, settings, copy.copy(bytearray(b"a"))


def inputs():
    return torch.randn(2), Settings(), frozenset({"p"})
