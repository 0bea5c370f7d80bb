# graphs: 1
"""The truth of a value, which newer compilers have an instruction for."""

import torch


class Truth:
    def __bool__(self):
        return False


class Wrong:
    def __bool__(self):
        raise ValueError("neither")


def tested(value):
    return not not value


def f(x, values):
    found = [not not value for value in values]
    try:
        tested(Wrong())
    except ValueError as error:
        found.append((str(error), error.__traceback__.tb_next.tb_lineno - tested.__code__.co_firstlineno))
    if not not values and tested(x.shape):
        found.append(not not not values)
    return x + 1, found, tested(Truth()), not not x.dim()


def inputs():
    return torch.ones(2), [0, 1, "", "a", [], [0], None, 0.5, Truth(), Truth]
