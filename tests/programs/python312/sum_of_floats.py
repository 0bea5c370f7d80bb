# graphs: 1
"""sum() keeps the errors of adding floats apart until the end, from 3.14 on those of complex numbers too; behind a value of
another kind it asks anew for the kind of what it has."""

from fractions import Fraction

import torch


class Float(float):
    pass


class Gives:
    def __init__(self, value):
        self.value = value

    def __radd__(self, other):
        return self.value


def f(x, values):
    total = sum(values)
    y = x * total
    found = [total, sum(values, 0.5), sum([1, 2, *values, 3, True]), sum((), 0.25), sum([2**70, *values])]
    found += [sum([*values, x, *values]), sum([1, Float(0.1), *values]), sum([0.1, Float(0.1), *values]), sum(values, True)]
    found += [sum([2, Gives(0.1), *values]), sum([*values, Gives(3), *values]), sum([*values, Gives(1j), *values])]
    found += [sum([2 + 1j, 10e100j, 1j, -10e100j]), sum([1j, 1, 10e100j, 1j, 1.0, -10e100j]), sum([2j, 1.0, 10e100, 1.0, -10e100])]
    found += [sum([0.1j] * 10 + [Fraction(1, 10)]), sum([1, 0.1, 10e100, 2j, Float(0.1), *values, True]), sum(values, 1j)]
    return y, found


def inputs():
    return torch.ones(2), [0.1] * 10
