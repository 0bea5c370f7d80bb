# graphs: 4
"""A loop with a break runs over lists of two and of four tensors."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(tensors):
    total = torch.zeros(2)
    for tensor in tensors:
        total = total + tensor
        say("next")
    return total.neg()


def inputs():
    return ([torch.randn(2) for _ in range(2)],)


def longer():
    return ([torch.randn(2) for _ in range(4)],)


calls = [inputs, longer, inputs]
