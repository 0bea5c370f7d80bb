# graphs: 3
"""A method of an exception from before the call, bound before it: calling it changes the exception once."""

import torch

error = ValueError("v")
add_note = error.add_note


def f(x):
    y = x + 1
    add_note("noted")
    return y * 2, list(error.__notes__)


def inputs():
    return (torch.randn(2),)
