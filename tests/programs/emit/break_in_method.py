# graphs: 2
"""A method reads a value that another method of the object computes."""

import torch


class Scheduler:
    def __init__(self):
        self.best = 9.0

    def score(self, y):
        return y.square().mean()

    def step(self, y):
        value = self.score(y).item()
        improved = value < self.best
        self.best = min(self.best, value)
        return y * self.best, improved


def f(x):
    scheduler = Scheduler()
    out, improved = scheduler.step(x + 1)
    return out.neg(), improved, scheduler.best


def inputs():
    return (torch.ones(2),)
