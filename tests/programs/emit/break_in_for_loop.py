# graphs: 3
"""A step of an iteration prints; every step but the first runs the same graph."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    for _ in range(4):
        x = x * 0.5 + 1
        say("step")
    return x.sum()


def inputs():
    return (torch.randn(3),)
