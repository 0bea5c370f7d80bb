# graphs: 3
"""A lambda chosen from a dict prints and computes."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break

ACTIVATIONS = {
    "loud": lambda t, k=2: (say("loud", k), t.relu() * k)[1],
    "soft": lambda t: t.sigmoid(),
}


def f(x):
    y = ACTIVATIONS["loud"](x + 1)
    z = ACTIVATIONS["soft"](y)
    return ACTIVATIONS["loud"](z, k=5)


def inputs():
    return (torch.randn(3),)
