# graphs: 2
"""max() and min() compare tensors by value, inside of C code."""

import torch


def f(losses, x):
    halves = [loss / 2 for loss in losses]
    worst = max(halves)
    return worst * x, min(2, x.dim())


def inputs():
    return [torch.tensor(1.0), torch.tensor(3.0), torch.tensor(2.0)], torch.ones(2)
