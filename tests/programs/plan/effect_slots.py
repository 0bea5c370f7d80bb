# graphs: 1
"""Slots of an argument: one is written, one is deleted, one is set for the first time."""

import torch


class Node:
    __slots__ = ("value", "left", "right")

    def __init__(self, value):
        self.value, self.left = value, None


def f(x, node):
    node.value = node.value + 1
    del node.left
    node.right = x * node.value
    return hasattr(node, "left"), node.right - 1


def inputs():
    return torch.randn(2), Node(4)
