# graphs: 1
"""A metaclass with __call__: instances are counted."""

import torch


class Counting(type):
    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.made_by = cls.__name__
        return made


class Thing(metaclass=Counting):
    def __init__(self, x):
        self.x = x * 3


def f(x):
    thing = Thing(x)
    return thing.x, thing.made_by


def inputs():
    return (torch.randn(2),)
