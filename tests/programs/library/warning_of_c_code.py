# graphs: 2
"""C code that warns does so under the filters that the program has set around it."""

import warnings

import torch


class Whole(int):
    pass


class Number:
    def __int__(self):
        return Whole(3)


def f(x):
    y = x * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        number = int(Number())
    return y + number, [warning.category.__name__ for warning in caught]


def inputs():
    return (torch.ones(2),)
