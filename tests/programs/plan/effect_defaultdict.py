# graphs: 1
"""Reading a missing key of a defaultdict argument makes an entry."""

import collections

import torch


def f(groups, x):
    groups["even"].append(x[::2])
    groups["odd"].append(x[1::2])
    size = len(groups["none"])
    return groups.get("absent"), size, groups["even"][-1] * 2


def inputs():
    return collections.defaultdict(list, even=["first"]), torch.randn(4)
