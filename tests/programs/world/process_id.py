# graphs: 1
"""The number of the process, which is guarded."""

import os

import torch


def f(x):
    y = x.cos()
    own = os.getpid() == os.getpid()
    return y * 2, own


def inputs():
    return (torch.randn(3),)
