# graphs: 2
"""An assertion on a tensor that fails, with a message made of the tensor's shape."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    y = x + 1
    say("checking")
    assert (y < 3).all(), f"shape {tuple(y.shape)}"
    return y


def inputs():
    return (torch.arange(4.0),)
