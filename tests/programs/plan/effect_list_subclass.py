# graphs: 1
"""A subclass of list with an attribute and an overridden append."""

import torch


class History(list):
    def __init__(self, *items):
        super().__init__(items)
        self.appended = 0

    def append(self, item):
        self.appended += 1
        super().append(item)


def f(history, x):
    history.append(x.mean())
    history.append(history.appended)
    history[0] = "start"
    return len(history), x + history.appended


def inputs():
    return History(1, 2), torch.randn(2)
