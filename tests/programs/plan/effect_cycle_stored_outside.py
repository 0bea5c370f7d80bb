# graphs: 1
"""A structure that contains itself is made inside and stored in an argument."""

import torch


def f(x, store):
    node = {"value": x * 2, "children": []}
    child = {"value": x + 1, "parent": node}
    node["children"].append(child)
    node["self"] = node
    store["root"] = node
    return child["value"] - 1


def inputs():
    return torch.randn(2), {}
