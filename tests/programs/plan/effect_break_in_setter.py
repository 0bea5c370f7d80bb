# graphs: 2
"""The setter of a property prints; what was written before is visible to it in order."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Monitor:
    def __init__(self):
        self.history, self.level = [], 0

    @property
    def value(self):
        return self.history[-1]

    @value.setter
    def value(self, new):
        self.history.append(new)
        say("level", self.level, "entries", len(self.history))
        self.level += 1


def f(x, monitor):
    y = x + 1
    monitor.level = 5
    monitor.value = y
    return monitor.value * monitor.level


def inputs():
    return torch.randn(2), Monitor()
