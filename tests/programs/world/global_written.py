# graphs: 1
"""A global is counted up at every call."""

import torch

COUNT = 10
LAST = None


def f(x):
    global LAST
    LAST = x + 1
    return x * 2


def inputs():
    return (torch.randn(2),)
