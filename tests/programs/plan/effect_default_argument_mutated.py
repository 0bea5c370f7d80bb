# graphs: 2
"""A mutable default of a callee collects over the calls."""

import torch


def remember(value, seen=[]):
    seen.append(value)
    return len(seen)


def f(x):
    remember("a")
    return x * remember("b")


def inputs():
    return (torch.randn(2),)
