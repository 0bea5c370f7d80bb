# graphs: 4
"""A tree of lists is folded, and each of its leaves is announced."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def fold(tree, x):
    if isinstance(tree, list):
        total = x
        for child in tree:
            total = total + fold(child, x)
        return total
    say("leaf", tree)
    return x * tree


def f(x, tree):
    return fold(tree, x + 1).abs()


def inputs():
    return torch.randn(2), [2, [3, 4]]
