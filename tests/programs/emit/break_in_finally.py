# graphs: 2
"""The finally block prints, on the way of a plain result."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    y = x + 1
    try:
        y = y * 3
    finally:
        say("cleaning up")
        y = y - 1
    return y


def inputs():
    return (torch.randn(2),)
