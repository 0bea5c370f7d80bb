# graphs: 3
"""A dict argument has other keys in the second call; it is looked into after the break."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def f(x, batch):
    y = x.exp()
    say("summing")
    for name in sorted(batch):
        y = y + batch[name]
    return y


def inputs():
    return torch.randn(2), {"a": torch.randn(2)}


def wider():
    return torch.randn(2), {"b": torch.randn(2), "a": torch.randn(2)}


calls = [inputs, wider, inputs]
