# graphs: 2
"""A key is taken out of a dict of weak references, and the object that it is for, held by a list, is let go of."""

import weakref

import torch


class Node:
    pass


KNOWN = weakref.WeakKeyDictionary()


def f(x, nodes):
    node = nodes.pop()
    found = KNOWN.pop(node, None)
    return x * 2, found, len(nodes)


def inputs():
    KNOWN.clear()
    nodes = [Node(), Node()]
    for node in nodes:
        KNOWN[node] = 1
    return torch.ones(2), nodes


calls = [inputs, inputs]
