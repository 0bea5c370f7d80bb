# graphs: 1
"""An attribute is deleted and set, twice: it is there at the end, behind the others."""

import torch


class Box:
    def __init__(self):
        self.count = 2
        self.other = 3
        self.last = 4


def f(x, box):
    del box.count
    box.count = 7
    first = box.count
    del box.count
    box.count = 4
    del box.other
    box.other = 1
    del box.other
    return x + first + box.count


def inputs():
    return torch.ones(2), Box()
