# graphs: 1
"""A global instance is rebound to a fresh one after the old one was changed; both stay reachable."""

import torch


class Session:
    def __init__(self, name, previous=None):
        self.name, self.previous = name, previous


CURRENT = Session("first")


def f(x):
    global CURRENT
    CURRENT.closed = True
    CURRENT = Session("second", CURRENT)
    CURRENT.output = x * len(CURRENT.previous.name)
    return CURRENT.output + 1


def inputs():
    return (torch.randn(2),)


calls = [inputs]
