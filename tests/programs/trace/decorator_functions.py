# graphs: 1
"""Functions behind decorators, with functools.wraps and with arguments."""

import functools

import torch


def scaled(by):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs) * by

        return wrapper

    return decorate


@scaled(3)
@scaled(by=2)
def g(x, y=1):
    return x + y


def f(x):
    return g(x), g(x, y=5), g.__name__


def inputs():
    return (torch.randn(3),)
