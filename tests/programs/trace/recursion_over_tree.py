# graphs: 1
"""A recursive map over nested containers."""

import torch


def tree_map(function, tree):
    if isinstance(tree, dict):
        return {key: tree_map(function, value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(tree_map(function, value) for value in tree)
    return function(tree)


def f(tree):
    return tree_map(lambda x: x * 2, tree)


def inputs():
    return ({"a": [torch.randn(2), (torch.randn(2), 3)], "b": torch.randn(1)},)
