import torch


def before(x):
    import colorsys

    return x * colorsys.rgb_to_yiq(0.5, 0.5, 0.5)[0]


import colorsys


def after(x):
    return x * colorsys.rgb_to_yiq(0.5, 0.5, 0.5)[0]


def inputs():
    import sys

    sys.modules.pop("colorsys", None)  # as before the first import
    return (torch.ones(3),)
