# graphs: 2
"""A global counts the calls; the result depends on it."""

import torch

STEP = 0


def f(x):
    global STEP
    STEP += 1
    return x * STEP


def inputs():
    return (torch.randn(2),)
