# graphs: 1
"""An object is made with the dict of the module's own names, which its constructor keeps and the program reads by it."""

import torch

SCALE = 3


class Names:
    def __init__(self, names):
        self.names = names


def f(x):
    held = Names(globals())
    exec("y = x * SCALE", held.names, space := {"x": x})
    return space["y"]


def inputs():
    return (torch.ones(3),)
