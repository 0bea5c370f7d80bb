# graphs: 2
"""sum() over a generator expression whose body prints."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def noted(t):
    say("term of", t.numel())
    return t


def f(tensors):
    shifted = [t + 1 for t in tensors]
    total = sum(noted(t * 2).sum() for t in shifted)
    return total + 1


def inputs():
    return ([torch.ones(1), torch.ones(2), torch.ones(3)],)
