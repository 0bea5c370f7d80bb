# graphs: 2
"""The printed thing is a tensor that the graph computed."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x):
    total = x.sum()
    say(total, x.dtype, sep=" / ", end="!\n")
    return x / total


def inputs():
    return (torch.arange(1.0, 5.0),)
