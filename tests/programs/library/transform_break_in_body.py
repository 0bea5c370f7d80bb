# graphs: 2
"""A graph break in the body: the whole transform runs as it is."""

import torch


import minidynamo


def f(x):
    y = x + 1

    def body(row):
        minidynamo.graph_break()
        return row * 2

    return torch.vmap(body)(y) * 3

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
