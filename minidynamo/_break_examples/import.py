import sys

import torch


def before(x):
    import colorsys

    return x * colorsys.rgb_to_yiq(0.5, 0.5, 0.5)[0]


def after(x):
    return x * colorsys.rgb_to_yiq(0.5, 0.5, 0.5)[0]


def call_after(captured, x):
    global colorsys
    import colorsys

    return captured(x)


def inputs():
    sys.modules.pop("colorsys", None)
    return (torch.ones(3),)
