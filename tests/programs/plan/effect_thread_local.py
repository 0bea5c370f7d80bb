# graphs: 1
"""An attribute of a threading.local from outside is written and read between two operations."""

import threading

import torch

LOCAL = threading.local()
LOCAL.depth = 0


def f(x):
    y = x * 2
    LOCAL.depth += 1
    LOCAL.shape = tuple(x.shape)
    return y + LOCAL.depth, LOCAL.shape


def inputs():
    return (torch.randn(2),)


calls = [inputs]
