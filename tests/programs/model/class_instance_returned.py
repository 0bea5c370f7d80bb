# graphs: 1
"""An instance made inside is the result, with its methods alive."""

import torch


class Box:
    def __init__(self, value, *, name="box"):
        self.value = value
        self.name = name
        self.children = []

    def double(self):
        self.children.append(self.value)
        return Box(self.value * 2, name=self.name + "2")


def f(x):
    box = Box(x + 1)
    other = box.double()
    other.parent = box
    return other


def inputs():
    return (torch.randn(2),)
