# graphs: 3
"""The program asks for graph breaks itself."""

import torch

import minidynamo


def f(x):
    x = x + 1
    minidynamo.graph_break()
    x = x.sin()
    minidynamo.graph_break()
    return x.cumsum(0)


def inputs():
    return (torch.randn(3),)
