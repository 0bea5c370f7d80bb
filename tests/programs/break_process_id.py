# graphs: 1
"""An unknown C function, whose result decides nothing."""

import os

import torch


def f(x):
    y = x.cos()
    own = os.getpid() == os.getpid()
    return y * 2, own


def inputs():
    return (torch.randn(3),)
