# graphs: 1
"""sum() keeps the errors of adding floats apart until the end, but for what comes behind a value of another kind."""

import torch


def f(x, values):
    total = sum(values)
    y = x * total
    return y, total, sum(values, 0.5), sum([1, 2, *values, 3, True]), sum([*values, x, *values]), sum((), 0.25), sum([2**70, *values])


def inputs():
    return torch.ones(2), [0.1] * 10
