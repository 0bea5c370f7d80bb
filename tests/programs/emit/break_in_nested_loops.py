# graphs: 4
"""The inner of two loops prints; the outer one computes after it."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    for _ in range(2):
        for _ in range(3):
            x = x + 1
            say("inner")
        x = x * 2
    return x.neg()


def inputs():
    return (torch.randn(2),)
