# graphs: 4
"""A loop over a dict's items: weights of losses, by name."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, weights):
    total = torch.zeros(())
    for name, weight in weights.items():
        total = total + (x * weight).sum()
        say("loss", name, weight)
    return total.sqrt()


def inputs():
    return torch.ones(2), {"main": 1.0, "auxiliary": 0.25, "penalty": 0.125}
