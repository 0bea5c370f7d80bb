# graphs: 1
"""An argument is made to contain itself, and is returned."""

import torch


class Node:
    def __init__(self):
        self.next = None


def f(x, node, items):
    node.next = node
    node.value = x * 2
    items.append(items)
    items.append(node)
    return items


def inputs():
    return torch.randn(2), Node(), ["first"]
