# graphs: 1
"""A helper asks the frame stack for its caller's globals."""

import sys

import torch

FACTOR = 3


def of_caller(name):
    return sys._getframe(1).f_globals[name]


def f(x):
    y = x * 2
    factor = of_caller("FACTOR")
    return y.sin() * factor


def inputs():
    return (torch.randn(2),)
