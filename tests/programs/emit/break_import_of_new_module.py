# graphs: 2
"""A module of the standard library is imported for the first time."""

import sys

import torch

sys.modules.pop("colorsys", None)


def f(x):
    y = x.sigmoid()
    import colorsys

    hue, _, _ = colorsys.rgb_to_hsv(0.2, 0.4, 0.2)
    return y * hue, round(hue, 4)


def inputs():
    return (torch.randn(2),)


calls = [inputs]
