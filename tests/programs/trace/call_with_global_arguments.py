# graphs: 1
"""Calls whose arguments are a global with *, with and without keywords, of functions, methods and classes."""

import torch

VALUES = (1, 2)
TABLE = {"c": 3}


def take(*values, c=0):
    return values, c


class Taker:
    def __init__(self, *values, c=0):
        self.values = values, c

    def again(self, *values, c=0):
        return self.values, values, c

    def all(self):
        return self.again(*VALUES), self.again(*VALUES, **TABLE), self.again(**TABLE)


def choose(flag):
    return take(*(VALUES if flag else TABLE))


def f(x, flag):
    found = [take(*VALUES), take(*VALUES, **TABLE), take(**TABLE), take(0, *VALUES), take(*VALUES, c=4), choose(flag)]
    found += [take(*VALUES, *TABLE), take(*VALUES, c=4, **{}), Taker(*VALUES).all(), max(*VALUES), dict(**TABLE)]
    return x + sum(VALUES), found, choose(not flag), [take(*part) for part in (VALUES, TABLE)], (lambda: take(*VALUES))()


def inputs():
    return torch.ones(2), True
