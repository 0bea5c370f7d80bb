# graphs: 1
"""Python attributes are put on an argument tensor and on a fresh one."""

import torch


def f(x):
    y = x * 2
    y.origin = "f"
    y.parents = [x]
    return y, y.parents[0] + 1


def inputs():
    return (torch.randn(2),)
