# graphs: 1
"""locals() gives the names that are bound at that point."""

import torch


def f(x, scale=2):
    y = x * scale
    names = sorted(locals())
    z = y + locals()["scale"]
    return z, names


def inputs():
    return (torch.randn(2),)
