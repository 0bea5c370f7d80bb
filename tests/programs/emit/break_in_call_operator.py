# graphs: 2
"""An object is called like a function, and prints."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Affine:
    def __init__(self, scale):
        self.scale = scale
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        y = x * self.scale
        say("call", self.calls)
        return y + self.calls


def f(x):
    affine = Affine(3)
    return affine(x.sin()).cos(), affine.calls


def inputs():
    return (torch.randn(2),)
