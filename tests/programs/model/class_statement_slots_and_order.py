# graphs: 1
"""__slots__, several bases, an instance's __class__ that is set, and a class changed after it was made."""

import torch


class Left:
    def name(self):
        return "left"


class Right:
    def name(self):
        return "right"

    def both(self):
        return "right"


def f(x):
    class Slotted:
        __slots__ = ("a", "b")

        def __init__(self, a):
            self.a = a

    class Both(Left, Right):
        def name(self):
            return "both " + super().name()

    class Swapped(Right, Left):
        pass

    slotted = Slotted(x)
    try:
        slotted.c = 1
    except AttributeError as error:
        message = str(error)
    Both.added = property(lambda self: self.name().upper())
    both = Both()
    names = both.name(), both.both(), both.added
    both.__class__ = Swapped
    del Both.name
    return slotted.a * 2, message, hasattr(slotted, "b"), names, both.name(), Both().name()


def inputs():
    return (torch.randn(2),)
