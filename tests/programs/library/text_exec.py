# graphs: 1
"""A configuration in Python is executed into a dict."""

import torch


def f(x):
    y = x + 1
    settings = {"base": 10}
    exec("rate = base * 2\nname = 'r' + str(rate)", settings)
    return y * settings["rate"], settings["name"]


def inputs():
    return (torch.randn(2),)
