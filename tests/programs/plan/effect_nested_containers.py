# graphs: 1
"""Writes three levels down in an argument, and a level replaced as a whole."""

import torch


def f(x, tree):
    tree["layers"][0]["units"][1] += 5
    tree["layers"][1] = {"units": [x.shape[0]], "old": tree["layers"][1]}
    tree["layers"][1]["old"]["units"].append(x * 2)
    return tree["layers"][1]["old"]["units"][-1] + tree["layers"][0]["units"][1]


def inputs():
    return torch.randn(2), {"layers": [{"units": [1, 2]}, {"units": [3]}]}
