# graphs: 3
"""A decorator prints around the calls of the function."""

import functools

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        say("->", function.__name__)
        result = function(*args, **kwargs)
        say("<-", function.__name__)
        return result

    return wrapper


@traced
def block(x, scale=1):
    return x * scale - 1


def f(x):
    y = x.sin()
    return block(y, scale=4).cos()


def inputs():
    return (torch.randn(2),)
