# graphs: 1
"""Attributes are put on tensors: on one that leaves the call, on one of its parts, and on an argument."""

import torch


def f(x, log):
    y = x * 2
    y.source = x
    y.parts = [y + 1, "text", log]
    y.parts[0].whole = y
    x.uses = getattr(x, "uses", 0) + 1
    hidden = x - 1
    hidden.factor = x.uses
    return y, hidden * hidden.factor


def inputs():
    return torch.arange(3.0), []
