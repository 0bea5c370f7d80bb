# graphs: 1
"""__getattribute__ sees every attribute access."""

import torch


class Watched:
    def __init__(self, x):
        self.x = x

    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        return value + 1 if name == "x" else value


def f(x):
    return Watched(x).x * 2


def inputs():
    return (torch.randn(2),)
