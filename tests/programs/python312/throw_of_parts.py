# graphs: 2
"""throw() of a type and a value warns that it is deprecated: under the program's filters, which it changes around the call."""

import warnings

import torch


def walk(x):
    try:
        yield x
    except ValueError as error:
        yield str(error)


def f(x):
    y = x * 2
    steps = walk(y)
    first = next(steps)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        second = steps.throw(ValueError, ValueError("told"))
    return first + 1, second, [str(warning.category.__name__) for warning in caught]


def inputs():
    return (torch.ones(2),)
