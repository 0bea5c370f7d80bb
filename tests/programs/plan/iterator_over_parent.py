# graphs: 3
"""A loop over containers that hold what leads back to them crosses a break, with its last element just taken."""

import collections

import torch


class Node(dict):
    parent = None

    def __getitem__(self, key):
        value = dict.__getitem__(self, key)
        if type(value) is dict:
            value = Node(value)
            value.parent = self
            dict.__setitem__(self, key, value)
        return value


class Ordered(collections.OrderedDict):
    pass


def f(x):
    seen = []
    node = Node(a={"b": 1})
    for key in node:
        seen.append((key, node[key]["b"], node[key].parent is node))
        if x.sum() < 0:
            seen.append("less")
    ordered = Ordered(a=1, b=2)
    ordered.itself = ordered
    for key in ordered:
        seen.append(key)
        if key == "b" and x.sum() < 0:
            seen.append("less")
    return x + 1, seen


def inputs():
    return (torch.ones(2),)
