# graphs: 1
"""A formula in a configuration is evaluated."""

import torch


def f(x, formula):
    y = x.abs()
    factor = eval(formula, {"width": 3, "depth": 2})
    return y * factor, factor


def inputs():
    return torch.randn(2), "width ** depth - 1"
