# graphs: 2
"""An ExitStack holds two managers over a break."""

import contextlib

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, weight):
    order = []
    with contextlib.ExitStack() as stack:
        stack.callback(order.append, "callback")
        stack.enter_context(torch.no_grad())
        y = x * weight
        say("inside", len(order))
        y = y + weight
    return y, y.requires_grad, order, weight * 2


def inputs():
    return torch.randn(2), torch.randn(2, requires_grad=True)
