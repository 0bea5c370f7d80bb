# graphs: 1
"""The type parameters of a generic function are copied to a wrapper, as functools.wraps does, and leave the call with it."""

import functools

import torch


def generic[T: str](value: T) -> T:
    return value


def f(x):
    @functools.wraps(generic)
    def wrapper(value):
        return generic(value)

    wrapper.__type_params__ = generic.__type_params__
    return wrapper(x) * 2, wrapper


def inputs():
    return (torch.ones(2),)
